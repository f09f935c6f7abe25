// SPDX-License-Identifier: GPL-2.0-only
/*
 * restart_block.c - system calls that go on by restart_syscall(2)
 *
 * The kernel keeps in the thread which function continues the call, and until when. Times are saved
 * as what remains, except where the program itself named a point in time: that is one of its time
 * namespace, and the kernel keeps it as one of the machine.
 */
#include <linux/kernel.h>
#include <linux/nsproxy.h>
#include <linux/overflow.h>
#include <linux/posix-timers.h>
#include <linux/sched.h>
#include <linux/thread_info.h>
#include <linux/time.h>
#include <linux/time_namespace.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "capture/capture.h"
#include "compat/futex.h"
#include "compat/hrtimer.h"
#include "compat/ksym.h"
#include "compat/restart_block.h"
#include "cryo_arch.h"
#include "lib/locked_task.h"
#include "syscalls/clocks.h"
#include "syscalls/syscalls.h"

/*
 * kernel/futex/futex.h: the timeout is on CLOCK_REALTIME.  The flags are internal to the
 * kernel: they are saved as they are and restored on the kernel that they came from.
 */
#define FUTEX_FLAGS_CLOCKRT	cryo_futex_clockrt()

static void save_nanosleep(struct task_struct *task, const struct restart_block *rb,
			   struct cryo_thread *out)
{
	u32 clock = rb->nanosleep.clockid;

	out->restart.kind = CRYO_RESTART_NANOSLEEP;
	out->restart.clockid = clock;
	out->restart.nanosleep_type = rb->nanosleep.type;
	if (rb->nanosleep.type == TT_NONE && rb->nanosleep.rmtp == CRYO_UNTIL_A_TIME) {
		out->restart.time_ns = cryo_shift_time(rb->nanosleep.expires,
						       cryo_ahead_of_machine(task, clock));
		return;
	}
	out->restart.time_flags = CRYO_TIME_REMAINING;
	out->restart.time_ns = rb->nanosleep.expires - cryo_clock_now(clock);
	out->restart.uaddr = (unsigned long)rb->nanosleep.rmtp;
}

static void save_futex(struct task_struct *task, const struct restart_block *rb,
		       struct cryo_thread *out)
{
	u32 clock = rb->futex.flags & FUTEX_FLAGS_CLOCKRT ? CLOCK_REALTIME : CLOCK_MONOTONIC;

	out->restart.kind = CRYO_RESTART_FUTEX;
	out->restart.clockid = clock;
	out->restart.uaddr = (unsigned long)rb->futex.uaddr;
	out->restart.val = rb->futex.val;
	out->restart.futex_flags = rb->futex.flags;
	out->restart.futex_bitset = rb->futex.bitset;
	out->restart.time_ns = rb->futex.time;
	if (cryo_arch_futex_is_absolute(task)) {
		out->restart.time_ns = cryo_shift_time(rb->futex.time,
						       cryo_ahead_of_machine(task, clock));
	} else {
		out->restart.time_flags = CRYO_TIME_REMAINING;
		out->restart.time_ns -= cryo_clock_now(clock);
	}
}

static void save_poll(const struct restart_block *rb, struct cryo_thread *out)
{
	struct timespec64 end = cryo_poll_end(rb);

	out->restart.kind = CRYO_RESTART_POLL;
	out->restart.uaddr = (unsigned long)rb->poll.ufds;
	out->restart.val = rb->poll.nfds;
	if (!rb->poll.has_timeout) {
		out->restart.time_flags = CRYO_TIME_INFINITE;
		return;
	}
	out->restart.time_flags = CRYO_TIME_REMAINING;
	out->restart.time_ns = timespec64_to_ns(&end) - ktime_get_ns();
}

static void save_timed(const struct restart_block *rb, struct cryo_thread *out)
{
	out->restart.kind = CRYO_RESTART_TIMED;
	out->restart.time_flags = CRYO_TIME_REMAINING;
	out->restart.time_ns = rb->futex.time - ktime_get_ns();
	out->restart.val = rb->futex.val;
	out->restart.uaddr = (unsigned long)rb->futex.uaddr;
}

void cryo_restart_block_save(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task,
			     struct cryo_thread *out)
{
	const struct restart_block *rb = &task->restart_block;

	if (rb->fn == cryo_fn_nanosleep && rb->fn)
		save_nanosleep(task, rb, out);
	else if (rb->fn == cryo_fn_futex && rb->fn)
		save_futex(task, rb, out);
	else if (rb->fn == cryo_fn_poll && rb->fn)
		save_poll(rb, out);
	else if (rb->fn == cryo_timed_restart)
		save_timed(rb, out);
	else if (rb->fn != cryo_fn_no_restart && cryo_arch_uses_restart_block(c->req, task))
		cryo_refuse(c, p, "thread %d: waits in %ps, which cannot be continued after a restart",
			    out->tid, rb->fn);
}

int cryo_restart_block_check(const struct cryo_restart_block *rb)
{
	if (rb->time_flags & ~(CRYO_TIME_REMAINING | CRYO_TIME_INFINITE) || rb->reserved)
		return -EINVAL;
	switch (rb->kind) {
	case CRYO_RESTART_NONE:
		return 0;
	case CRYO_RESTART_NANOSLEEP:
		if (rb->nanosleep_type > TT_NATIVE ||
		    (!(rb->time_flags & CRYO_TIME_REMAINING) && rb->nanosleep_type != TT_NONE))
			return -EINVAL;
		if (rb->clockid != CLOCK_REALTIME && rb->clockid != CLOCK_MONOTONIC &&
		    rb->clockid != CLOCK_BOOTTIME && rb->clockid != CLOCK_TAI)
			return -EINVAL;
		return cryo_fn_nanosleep ? 0 : -EOPNOTSUPP;
	case CRYO_RESTART_FUTEX:
		if (!rb->futex_bitset || !cryo_futex_flags(rb->futex_flags))
			return -EINVAL;
		return cryo_fn_futex ? 0 : -EOPNOTSUPP;
	case CRYO_RESTART_POLL:
		return cryo_fn_poll ? 0 : -EOPNOTSUPP;
	case CRYO_RESTART_TIMED:
		return cryo_timed_wait_known(rb->val) ? 0 : -EOPNOTSUPP;
	}
	return -EINVAL;
}

static u64 expiry(const struct cryo_restart_block *rb, u32 clockid)
{
	if (!(rb->time_flags & CRYO_TIME_REMAINING))
		return cryo_shift_time(max_t(s64, rb->time_ns, 0),
				       -cryo_ahead_of_machine(current, clockid));
	return ktime_add_safe(cryo_clock_now(clockid), max_t(s64, rb->time_ns, 0));
}

static void set_poll(struct restart_block *rb, const struct cryo_restart_block *in)
{
	struct timespec64 end = ns_to_timespec64(expiry(in, CLOCK_MONOTONIC));

	rb->poll.ufds = (struct pollfd __user *)(unsigned long)in->uaddr;
	rb->poll.nfds = in->val;
	rb->poll.has_timeout = !(in->time_flags & CRYO_TIME_INFINITE);
	cryo_set_poll_end(rb, end);
	set_restart_fn(rb, cryo_fn_poll);
}

void cryo_restart_block_set(const struct cryo_restart_block *in)
{
	struct restart_block *rb = &current->restart_block;

	switch (in->kind) {
	case CRYO_RESTART_NONE:
		rb->fn = cryo_fn_no_restart;
		break;
	case CRYO_RESTART_NANOSLEEP:
		rb->nanosleep.clockid = in->clockid;
		rb->nanosleep.type = in->nanosleep_type;
		rb->nanosleep.rmtp = in->time_flags & CRYO_TIME_REMAINING ?
			(struct __kernel_timespec __user *)(unsigned long)in->uaddr :
			CRYO_UNTIL_A_TIME;
		rb->nanosleep.expires = expiry(in, in->clockid);
		set_restart_fn(rb, cryo_fn_nanosleep);
		break;
	case CRYO_RESTART_FUTEX:
		rb->futex.uaddr = (u32 __user *)(unsigned long)in->uaddr;
		rb->futex.val = in->val;
		rb->futex.flags = cryo_futex_flags(in->futex_flags);
		rb->futex.bitset = in->futex_bitset;
		rb->futex.time = expiry(in, in->clockid);
		set_restart_fn(rb, cryo_fn_futex);
		break;
	case CRYO_RESTART_POLL:
		set_poll(rb, in);
		break;
	case CRYO_RESTART_TIMED:
		cryo_timed_wait_arm(max_t(s64, in->time_ns, 0), in->val, in->uaddr);
		break;
	}
}
