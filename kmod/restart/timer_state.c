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

static int set_counts(const struct cryo_timer_state *args)
{
	struct sighand_struct *sighand;
	struct k_itimer *timer, *found = NULL;
	int err = -ENOENT;

	rcu_read_lock();
	sighand = cryo_lock_sighand(current);
	if (sighand) {
		cryo_for_each_posix_timer(timer, current->signal)
			if (timer->it_id == args->id) {
				found = timer;
				break;
			}
		cryo_unlock_sighand(sighand);
	}
	/* Its own lock is not taken inside of siglock: the timer's interrupt does it the other way. */
	if (found) {
		spin_lock_irq(&found->it_lock);
		if (READ_ONCE(found->it_signal) == current->signal) {
			found->it_overrun = args->overrun;
			found->it_overrun_last = args->overrun_last;
			err = 0;
		}
		spin_unlock_irq(&found->it_lock);
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
