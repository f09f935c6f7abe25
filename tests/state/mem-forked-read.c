// SPDX-License-Identifier: GPL-2.0-only
/* The same, of a context that is compressed, and so is read and not mapped. See mem-forked.c. */
#define CASES "generations parts"
#define CHECKPOINT_ARGS "--compress"
#include "mem-forked.c"
