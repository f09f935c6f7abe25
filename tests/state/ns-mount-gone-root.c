// SPDX-License-Identifier: GPL-2.0-only
/* The same as ns-mount-gone.c by root. */
#define GONE_FLAGS CRT_ROOT
#include "ns-mount-gone.c"
