/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/posix-timers.h: the list of a process's timers. */
#ifndef CRYO_COMPAT_POSIX_TIMERS_H
#define CRYO_COMPAT_POSIX_TIMERS_H

#include <linux/sched/signal.h>
#include <linux/version.h>

/* A list up to v6.6, a hash list since (v6.11, and backports). */
static inline bool cryo_has_posix_timers(struct signal_struct *sig)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	return !hlist_empty(&sig->posix_timers);
#else
	return !list_empty(&sig->posix_timers);
#endif
}

#endif
