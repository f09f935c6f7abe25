// SPDX-License-Identifier: GPL-2.0-only
/*
 * posix_timers.c - timers made by timer_create(2)
 *
 * Timers are listed under siglock, which nests inside of their own locks: so they are looked at in
 * a second step, in which RCU keeps them in memory, and those deleted meanwhile are passed over. A
 * process may have hundreds of thousands: interrupts are off for some of them at a time, and each
 * is come to once.
 *
 * A timer that has expired stands still, when it is an interval timer, until its signal is
 * delivered, and counts then how often it would have expired since. A restart lets it expire again,
 * with the time of the first expiry; the signal itself is not sent.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/posix-timers.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/hrtimer.h"
#include "compat/posix_timers.h"
#include "lib/buf.h"
#include "lib/sighand.h"
#include "resources.h"
#include "save/process.h"

/* By CPUCLOCK_PROF, CPUCLOCK_VIRT, CPUCLOCK_SCHED. */
struct cpu_times {
	u64 ns[3];
};

/*
 * Per-process clocks count the threads that are gone, too. With RCU; as nobody runs, once for all
 * timers.
 */
static void process_cpu_times(struct task_struct *leader, struct cpu_times *times)
{
	struct signal_struct *sig = leader->signal;
	u64 utime = sig->utime, stime = sig->stime, runtime = sig->sum_sched_runtime;
	struct task_struct *t;

	for_each_thread(leader, t) {
		utime += READ_ONCE(t->utime);
		stime += READ_ONCE(t->stime);
		runtime += READ_ONCE(t->se.sum_exec_runtime);
	}
	times->ns[CPUCLOCK_PROF] = utime + stime;
	times->ns[CPUCLOCK_VIRT] = utime;
	times->ns[CPUCLOCK_SCHED] = runtime;
}

/* Of a thread that does not run. */
static u64 thread_cpu_time(struct task_struct *t, u32 which)
{
	switch (which) {
	case CPUCLOCK_PROF:
		return READ_ONCE(t->utime) + READ_ONCE(t->stime);
	case CPUCLOCK_VIRT:
		return READ_ONCE(t->utime);
	default:
		return READ_ONCE(t->se.sum_exec_runtime);
	}
}

/* Text: why it cannot be saved. With RCU. */
static const char *cpu_timer_obstacle(struct task_struct *leader, struct k_itimer *timer,
				      const struct cpu_times *times, struct cryo_posix_timer *out)
{
	bool thread = CPUCLOCK_PERTHREAD(timer->it_clock);
	struct task_struct *t = pid_task(timer->it.cpu.pid, thread ? PIDTYPE_PID : PIDTYPE_TGID);
	u64 expires = cpu_timer_getexpires(&timer->it.cpu);
	u32 which = CPUCLOCK_WHICH(timer->it_clock);

	if (!t)
		return "the CPU time of a thread that has exited";
	if (!same_thread_group(t, leader))
		return "the CPU time of another process";
	out->clockid = (~0U << 3) | (timer->it_clock & 7);
	out->clock_tid = thread ? task_pid_vnr(t) : 0;
	out->remaining_ns = expires - (thread ? thread_cpu_time(t, which) :
				       which < ARRAY_SIZE(times->ns) ? times->ns[which] : 0);
	if (cpu_timer_queued(&timer->it.cpu) || (timer->it_sigev_notify == SIGEV_NONE && expires))
		out->flags |= CRYO_TIMER_ARMED;
	return NULL;
}

static void save_alarm(struct k_itimer *timer, struct cryo_posix_timer *out)
{
	struct alarm *alarm = &timer->it.alarm.alarmtimer;

	out->remaining_ns = ktime_to_ns(alarm_expires_remaining(alarm));
	if (alarm->state & ALARMTIMER_STATE_ENQUEUED)
		out->flags |= CRYO_TIMER_ARMED;
	/* The kernel makes a date of a relative time, too. */
	if (timer->it_clock == CLOCK_REALTIME_ALARM)
		out->flags |= CRYO_TIMER_ABSOLUTE;
}

static void save_hrtimer(struct k_itimer *timer, struct cryo_posix_timer *out)
{
	struct hrtimer *t = &timer->it.real.timer;

	out->remaining_ns = ktime_to_ns(ktime_sub(hrtimer_get_expires(t), cryo_hrtimer_now(t)));
	if (hrtimer_active(t))
		out->flags |= CRYO_TIMER_ARMED;
	/* A relative time on this clock is counted on the monotonic one. */
	if (timer->it_clock == CLOCK_REALTIME && t->base->clockid == CLOCK_REALTIME)
		out->flags |= CRYO_TIMER_ABSOLUTE;
}

static void save_notification(struct k_itimer *timer, struct cryo_posix_timer *out)
{
	struct sigqueue *q = cryo_timer_sigqueue(timer);

	out->notify = timer->it_sigev_notify;
	out->signal = q->info.si_signo;
	out->value = (unsigned long)q->info.si_value.sival_ptr;
	if (out->notify & SIGEV_THREAD_ID) {
		out->notify_tid = pid_vnr(timer->it_pid);
		/* Its signals go nowhere. */
		if (!pid_task(timer->it_pid, PIDTYPE_PID))
			out->notify = SIGEV_NONE;
	}
	if (!(out->flags & CRYO_TIMER_ARMED) &&
	    ((!list_empty(&q->list) && !cryo_sigqueue_void(q)) || cryo_timer_ignored(timer)))
		out->flags |= CRYO_TIMER_PENDING;
}

/* With its lock and RCU. */
static const char *timer_obstacle(struct task_struct *leader, struct k_itimer *timer,
				  const struct cpu_times *times, struct cryo_posix_timer *out)
{
	const char *obstacle = NULL;

	lockdep_assert_held(&timer->it_lock);
	*out = (struct cryo_posix_timer){
		.id = timer->it_id,
		.clockid = timer->it_clock,
		.interval_ns = ktime_to_ns(timer->it_interval),
		.overrun = timer->it_overrun,
		.overrun_last = timer->it_overrun_last,
	};
	if (timer->it_clock < 0)
		obstacle = cpu_timer_obstacle(leader, timer, times, out);
	else if (timer->it_clock == CLOCK_REALTIME_ALARM ||
		 timer->it_clock == CLOCK_BOOTTIME_ALARM)
		save_alarm(timer, out);
	else
		save_hrtimer(timer, out);
	save_notification(timer, out);
	/* Never queued: it is asked what would be left. */
	if (timer->it_sigev_notify == SIGEV_NONE && timer->it_clock >= 0 &&
	    (out->remaining_ns > 0 || out->interval_ns))
		out->flags |= CRYO_TIMER_ARMED;
	out->remaining_ns = cryo_cut_remaining(out->remaining_ns);
	return obstacle;
}

/* So many are looked at before others get the CPU. */
#define TIMER_BATCH	1024

struct timer_snapshot {
	struct k_itimer *timers[TIMER_BATCH];	/* a part of the list */
	unsigned int count;			/* of these */
	/* of the list, that has been looked at; NULL: none yet */
	struct k_itimer *last;
	struct cryo_posix_timer out[TIMER_BATCH];
	const char *obstacles[TIMER_BATCH];
	unsigned int kept;			/* of these: not deleted meanwhile */
	u32 next_id;
	struct cpu_times times;
};

/*
 * With siglock held. Threads of the process could add and delete timers, and all of them are
 * parked, or stopped by job control, in which case they park before they make a system call. What
 * takes its timers from a process that is killed takes the whole list first (exit_itimers()): so as
 * long as there is one in it, all are in it that have been.
 */
static int list_timers(struct signal_struct *sig, struct timer_snapshot *s)
{
	struct k_itimer *timer = s->last;

	s->count = 0;
	if (!s->last)
		s->next_id = cryo_next_timer_id(sig);
	else if (!cryo_has_posix_timers(sig))
		return -ESRCH;
	while (s->count < TIMER_BATCH) {
		timer = cryo_posix_timer_after(sig, timer);
		if (!timer)
			break;
		s->timers[s->count++] = timer;
	}
	if (s->count)
		s->last = s->timers[s->count - 1];
	return 0;
}

static void look_at_timers(struct task_struct *leader, struct timer_snapshot *s)
{
	unsigned int i;

	for (i = 0; i < s->count; i++) {
		struct k_itimer *timer = s->timers[i];

		spin_lock_irq(&timer->it_lock);
		if (READ_ONCE(timer->it_signal) == leader->signal) {
			s->obstacles[s->kept] = timer_obstacle(leader, timer, &s->times,
							       &s->out[s->kept]);
			s->kept++;
		}
		spin_unlock_irq(&timer->it_lock);
	}
}

/* The next ones. s->count is less than TIMER_BATCH: there are no more. */
static int take_some_timers(struct task_struct *leader, struct timer_snapshot *s)
{
	bool first = !s->last;
	struct sighand_struct *sighand;
	int err = -ESRCH;

	s->kept = 0;
	rcu_read_lock();
	sighand = cryo_lock_sighand(leader);
	if (sighand) {
		err = list_timers(leader->signal, s);
		cryo_unlock_sighand(sighand);
	}
	if (!err && first)
		process_cpu_times(leader, &s->times);
	if (!err)
		look_at_timers(leader, s);
	rcu_read_unlock();
	return err;
}

static void put_timers(struct cryo_capture *c, struct cryo_proc *p, struct timer_snapshot *s,
		       struct cryo_posix_timers *head, struct cryo_buf *buf)
{
	unsigned int i;

	for (i = 0; i < s->kept; i++)
		if (s->obstacles[i])
			cryo_refuse(c, p, "POSIX timer %d: %s is not supported", s->out[i].id,
				    s->obstacles[i]);
	cryo_buf_put(buf, s->out, s->kept * sizeof(*s->out));
	head->count += s->kept;
}

static int take_timers(struct cryo_capture *c, struct cryo_proc *p, struct timer_snapshot *s,
		       struct cryo_posix_timers *head, struct cryo_buf *buf)
{
	int err;

	do {
		err = take_some_timers(p->task, s);
		if (!err)
			put_timers(c, p, s, head, buf);
		cond_resched();
		err = err ?: buf->error ?: cryo_capture_interrupted(c);
	} while (!err && s->count == TIMER_BATCH);
	head->next_id = s->next_id;
	return err;
}

/* After all pending signals: what expires in between is then known to the timer alone. */
static int save_posix_timers(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_posix_timers head = { .record_size = sizeof(struct cryo_posix_timer) };
	struct cryo_buf buf = {};
	struct timer_snapshot *s;
	int err;

	s = kvzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s)
		return -ENOMEM;
	cryo_buf_put(&buf, &head, sizeof(head));
	err = take_timers(c, p, s, &head, &buf);
	kvfree(s);
	if (err || (!head.count && !head.next_id)) {
		cryo_buf_free(&buf);
		return err;
	}
	memcpy(buf.data, &head, sizeof(head));
	return cryo_stream_buf(&c->stream, CRYO_SEC_POSIX_TIMERS, p->pid, sizeof(head), &buf);
}

const struct cryo_resource cryo_resource_posix_timers = {
	.save = save_posix_timers,
};
