// SPDX-License-Identifier: GPL-2.0-only
/* Names of memory that comes from the context when it is used. */
#define RESTART_ARGS "--map --no-populate"
#include "mem-named.c"
