// SPDX-License-Identifier: GPL-2.0-only
/* The same as mem-tagged.c with cr_restart --map: memory with tags is read, as ever. */
#define RESTART_ARGS "--map"
#include "mem-tagged.c"
