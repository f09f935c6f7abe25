// SPDX-License-Identifier: GPL-2.0-only
/* The same, made by root. */
#define PIVOT_FLAGS CRT_ROOT
#include "ns-pivot.c"
