// SPDX-License-Identifier: GPL-2.0-only
/*
 * timer_state.c - what of POSIX timers can be set by no call: the id that the next one gets, and
 * the counts of expirations that no signal has told of
 *
 * Everything belongs to the calling process.
 */
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

#include <cryo/ioctl.h>

#include "compat/posix_timers.h"
#include "lib/args.h"
#include "lib/sighand.h"
#include "restart/calls.h"

/* So many are looked at before interrupts come again. */
#define LIST_PART	256

/*
 * With RCU, by which timers that are deleted stay in memory. The next ones of the list, from behind
 * @*at on: 0: @*at is it; 1: there are more; -EAGAIN: another thread has deleted @*at.
 */
static int look_at_some(s32 id, struct k_itimer **at)
{
	struct sighand_struct *sighand = cryo_lock_sighand(current);
	struct k_itimer *timer = *at;
	unsigned int n = 0;
	int ret = 1;

	if (!sighand)
		return -ESRCH;
	if (timer && !cryo_posix_timer_is_listed(timer))
		ret = -EAGAIN;
	while (ret > 0 && n++ < LIST_PART) {
		timer = cryo_posix_timer_after(current->signal, timer);
		if (!timer)
			ret = -ENOENT;
		else if (timer->it_id == id)
			ret = 0;
	}
	cryo_unlock_sighand(sighand);
	*at = timer;
	return ret;
}

/* With RCU. */
static int find_timer(s32 id, struct k_itimer **found)
{
	int ret;

	*found = NULL;
	do {
		ret = look_at_some(id, found);
		if (ret > 0 && fatal_signal_pending(current))
			ret = -EINTR;
	} while (ret > 0);
	return ret;
}

static int set_counts(const struct cryo_timer_state *args)
{
	struct k_itimer *timer;
	int err;

	rcu_read_lock();
	err = find_timer(args->id, &timer);
	/*
	 * Its own lock is not taken inside of siglock: the timer's interrupt does it the other way.
	 */
	if (!err) {
		spin_lock_irq(&timer->it_lock);
		if (READ_ONCE(timer->it_signal) == current->signal) {
			timer->it_overrun = args->overrun;
			timer->it_overrun_last = args->overrun_last;
		} else {
			err = -ENOENT;
		}
		spin_unlock_irq(&timer->it_lock);
	}
	rcu_read_unlock();
	return err;
}

/* CRYO_RST_TIMER */
long cryo_restart_timer(void __user *arg)
{
	struct cryo_timer_state args;
	int err;

	err = cryo_copy_args(&args, sizeof(args),
			     offsetofend(struct cryo_timer_state, overrun_last), arg);
	if (err)
		return err;
	if (args.id < 0 || args.overrun < -1 || args.overrun_last < -1)
		return -EINVAL;
	switch (args.what) {
	case CRYO_TIMER_NEXT_ID:
		cryo_set_next_timer_id(current->signal, args.id);
		return 0;
	case CRYO_TIMER_COUNTS:
		return set_counts(&args);
	}
	return -EINVAL;
}
