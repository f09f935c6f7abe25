// SPDX-License-Identifier: GPL-2.0-only
/* The same as ns-ipc-next.c by root. */
#define NEXT_FLAGS CRT_ROOT
#include "ns-ipc-next.c"
