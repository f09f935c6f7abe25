// SPDX-License-Identifier: GPL-2.0-only
/* clocks.c - times that programs name, on clocks which another boot begins anew */
#include <linux/nsproxy.h>
#include <linux/overflow.h>
#include <linux/posix-timers.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/seccomp.h>
#include <linux/time.h>
#include <linux/time_namespace.h>
#include <linux/ktime.h>
#include <linux/thread_info.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "compat/ksym.h"
#include "lib/locked_task.h"
#include "syscalls/clocks.h"

s64 cryo_ahead_of_machine(struct task_struct *task, u32 clockid)
{
	const struct nsproxy *its;
	s64 ns = 0;

	if (clockid != CLOCK_MONOTONIC && clockid != CLOCK_BOOTTIME)
		return 0;
	task_lock(task);
	its = cryo_nsproxy_of(task);
	if (its && its->time_ns)
		ns = timespec64_to_ns(clockid == CLOCK_BOOTTIME ?
				      &its->time_ns->offsets.boottime :
				      &its->time_ns->offsets.monotonic);
	task_unlock(task);
	return ns;
}

s64 cryo_shift_time(s64 time, s64 ns)
{
	s64 shifted;

	if (time == KTIME_MAX)
		return time;
	if (check_add_overflow(time, ns, &shifted))
		return ns < 0 ? 0 : KTIME_MAX;
	return max_t(s64, shifted, 0);
}

/*
 * A filter is to see each call by its own number: one that is continued by restart_syscall(2) would
 * not be shown to it.
 */
bool cryo_is_filtered(void)
{
	return seccomp_mode(&current->seccomp) != SECCOMP_MODE_DISABLED;
}

bool cryo_sleep_until_arm(clockid_t clockid, int flags, unsigned long time)
{
	struct restart_block *rb = &current->restart_block;
	struct __kernel_timespec until;
	struct timespec64 ts;

	if ((clockid != CLOCK_MONOTONIC && clockid != CLOCK_BOOTTIME) || !(flags & TIMER_ABSTIME) ||
	    !cryo_fn_nanosleep || cryo_is_filtered())
		return false;
	if (copy_from_user_nofault(&until, (void __user *)time, sizeof(until)))
		return false;
	ts = (struct timespec64){ until.tv_sec, until.tv_nsec };
	if (!timespec64_valid(&ts))
		return false;
	rb->nanosleep.clockid = clockid;
	rb->nanosleep.type = TT_NONE;
	rb->nanosleep.rmtp = CRYO_UNTIL_A_TIME;
	rb->nanosleep.expires = cryo_shift_time(timespec64_to_ktime(ts),
						-cryo_ahead_of_machine(current, clockid));
	set_restart_fn(rb, cryo_fn_nanosleep);
	return true;
}
