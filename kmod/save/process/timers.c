// SPDX-License-Identifier: GPL-2.0-only
/* timers.c - interval timers (setitimer(2)) */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/sched/cputime.h>
#include <linux/sched/signal.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "lib/sighand.h"
#include "resources.h"
#include "save/process.h"

static void save_real(struct signal_struct *sig, struct cryo_itimer *out)
{
	ktime_t left = hrtimer_get_remaining(&sig->real_timer);

	if (!hrtimer_active(&sig->real_timer)) {
		/*
		 * It goes on when its signal is taken; if it strikes before that, it is still the
		 * same signal.
		 */
		if (sigismember(&sig->shared_pending.signal, SIGALRM))
			out->value_ns = ktime_to_ns(sig->it_real_incr);
		out->interval_ns = out->value_ns;
		return;
	}
	/* Due, but not delivered: a value of 0 would say "not armed". */
	out->value_ns = max_t(s64, ktime_to_ns(left), 1);
	out->interval_ns = ktime_to_ns(sig->it_real_incr);
}

static void save_cpu(const struct cpu_itimer *it, u64 now, struct cryo_itimer *out)
{
	if (!it->expires)
		return;
	out->value_ns = it->expires > now ? it->expires - now : 1;
	out->interval_ns = it->incr;
}

static int save_itimers(struct cryo_capture *c, struct cryo_proc *p)
{
	struct {
		struct cryo_array head;
		struct cryo_itimer timer[3];
	} out = { .head = { 3, sizeof(struct cryo_itimer) } };
	struct signal_struct *sig = p->task->signal;
	struct sighand_struct *sighand = cryo_lock_sighand(p->task);
	u64 utime, stime;

	if (!sighand)
		return -ESRCH;
	save_real(sig, &out.timer[0]);
	/*
	 * What the kernel compares CPU timers with: kept per process while one is armed.
	 */
	utime = atomic64_read(&sig->cputimer.cputime_atomic.utime);
	stime = atomic64_read(&sig->cputimer.cputime_atomic.stime);
	save_cpu(&sig->it[CPUCLOCK_VIRT], utime, &out.timer[1]);
	save_cpu(&sig->it[CPUCLOCK_PROF], utime + stime, &out.timer[2]);
	cryo_unlock_sighand(sighand);
	return cryo_stream_section(&c->stream, CRYO_SEC_ITIMERS, p->pid, sizeof(out.head),
				   &out, sizeof(out));
}

const struct cryo_resource cryo_resource_itimers = {
	.save = save_itimers,
};
