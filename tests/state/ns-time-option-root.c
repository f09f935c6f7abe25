// SPDX-License-Identifier: GPL-2.0-only
/* The same without a time namespace before the restart. */
#define OPTION "--time-ns"
#include "ns-time-root.c"
