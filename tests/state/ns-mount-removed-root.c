// SPDX-License-Identifier: GPL-2.0-only
/* The same as ns-mount-removed.c by root. */
#define REMOVED_FLAGS CRT_ROOT
#include "ns-mount-removed.c"
