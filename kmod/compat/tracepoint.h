/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * trace/events/sched.h: sched_process_exit tells whether the last thread of a process exits since
 * v6.16.
 */
#ifndef CRYO_COMPAT_TRACEPOINT_H
#define CRYO_COMPAT_TRACEPOINT_H

#include <linux/tracepoint.h>
#include <linux/version.h>

/* Parameters of its probes behind the task. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define CRYO_PROBE_EXIT_MORE	, bool group_dead
#else
#define CRYO_PROBE_EXIT_MORE
#endif

#endif
