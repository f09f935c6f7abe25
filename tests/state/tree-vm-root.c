// SPDX-License-Identifier: GPL-2.0-only
/* The same as root. */
#define FLAGS CRT_ROOT
#include "tree-vm.c"
