// SPDX-License-Identifier: GPL-2.0-only
/* The same as ns-mount-names.c by root. */
#define NAMES_FLAGS CRT_ROOT
#include "ns-mount-names.c"
