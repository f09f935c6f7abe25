// SPDX-License-Identifier: GPL-2.0-only
/* Children of a process whose memory comes from the context only when it is used: what they get depends on the kernel. See map-areas.c. */
#define CASES "fork dropfork"
#include "map-areas.c"
