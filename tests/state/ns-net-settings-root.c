// SPDX-License-Identifier: GPL-2.0-only
/* The same in one that no other user namespace owns. */
#define FLAGS CRT_ROOT
#include "ns-net-settings.c"
