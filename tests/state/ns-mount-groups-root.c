// SPDX-License-Identifier: GPL-2.0-only
/* The same, made by root. */
#define GROUPS_FLAGS CRT_ROOT
#include "ns-mount-groups.c"
