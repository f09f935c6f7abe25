// SPDX-License-Identifier: GPL-2.0-only
/* Who uses memory first that comes from the context only then: threads, the kernel, another program. See map-areas.c. */
#define CASES "threads calls lock exec"
#include "map-areas.c"
