// SPDX-License-Identifier: GPL-2.0-only
/*
 * trace.c - what <trace/define_trace.h> makes of the tracepoints
 */
#define CREATE_TRACE_POINTS
#include "lib/trace.h"

/* Where all sources are compiled in one piece, those after this one only use them. */
#undef CREATE_TRACE_POINTS
