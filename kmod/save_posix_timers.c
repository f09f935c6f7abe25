// SPDX-License-Identifier: GPL-2.0-only
/*
 * save_posix_timers.c - timers made by timer_create(2)
 *
 * Timers are listed under siglock, which nests inside of their own locks: so they are looked at in a
 * second step, in which RCU keeps them in memory, and those deleted meanwhile are passed over.
 *
 * A timer that has expired stands still, when it is an interval timer, until its signal is delivered,
 * and counts then how often it would have expired since.  A restart lets it expire again, with the time
 * of the first expiry; the signal itself is not sent.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/posix-timers.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/time.h>

#include "compat/hrtimer.h"
#include "compat/posix_timers.h"
#include "cryo.h"

/* By CPUCLOCK_PROF, CPUCLOCK_VIRT, CPUCLOCK_SCHED. */
struct cpu_times {
	u64 ns[3];
};

/* Per-process clocks count the threads that are gone, too. With RCU; as nobody runs, once for all timers. */
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

struct snapshot {
	struct k_itimer **timers;
	struct cryo_posix_timer *out;
	const char **obstacles;
	unsigned int room;
	unsigned int count;		/* in the list */
	unsigned int done;		/* of these: looked at */
	unsigned int kept;		/* of these: not deleted meanwhile */
	u32 next_id;
	struct cpu_times times;
};

/* So many are looked at before others get the CPU. */
#define TIMER_BATCH	1024

static void snapshot_free(struct snapshot *s)
{
	kvfree(s->timers);
	kvfree(s->out);
	kvfree(s->obstacles);
}

static int snapshot_alloc(struct snapshot *s, unsigned int room)
{
	snapshot_free(s);
	s->room = room;
	s->timers = kvmalloc_array(room, sizeof(*s->timers), GFP_KERNEL_ACCOUNT);
	s->out = kvmalloc_array(room, sizeof(*s->out), GFP_KERNEL_ACCOUNT);
	s->obstacles = kvmalloc_array(room, sizeof(*s->obstacles), GFP_KERNEL_ACCOUNT);
	return s->timers && s->out && s->obstacles ? 0 : -ENOMEM;
}

/* With siglock held. False: there is not enough room, see s->count. */
static bool list_timers(struct signal_struct *sig, struct snapshot *s)
{
	struct k_itimer *timer;

	s->count = 0;
	s->next_id = cryo_next_timer_id(sig);
	cryo_for_each_posix_timer(timer, sig) {
		if (s->count < s->room)
			s->timers[s->count] = timer;
		s->count++;
	}
	return s->count <= s->room;
}

static void look_at_timers(struct task_struct *leader, struct snapshot *s)
{
	unsigned int end = min(s->count, s->done + TIMER_BATCH);

	for (; s->done < end; s->done++) {
		struct k_itimer *timer = s->timers[s->done];

		spin_lock_irq(&timer->it_lock);
		if (READ_ONCE(timer->it_signal) == leader->signal) {
			s->obstacles[s->kept] = timer_obstacle(leader, timer, &s->times,
							       &s->out[s->kept]);
			s->kept++;
		}
		spin_unlock_irq(&timer->it_lock);
	}
}

/* 1: there is not enough room. With another number of them it begins again; who could change that is parked. */
static int take_some_timers(struct task_struct *leader, struct snapshot *s)
{
	struct sighand_struct *sighand;
	unsigned int before = s->count;
	bool done = false;

	rcu_read_lock();
	sighand = cryo_lock_sighand(leader);
	if (sighand) {
		done = list_timers(leader->signal, s);
		cryo_unlock_sighand(sighand);
	}
	if (done && (!s->done || s->count != before)) {
		s->done = 0;
		s->kept = 0;
		process_cpu_times(leader, &s->times);
	}
	if (done)
		look_at_timers(leader, s);
	rcu_read_unlock();
	return !sighand ? -ESRCH : !done;
}

static int take_timers(struct cryo_capture *c, struct snapshot *s)
{
	int err;

	do {
		err = take_some_timers(c->p->task, s);
		if (err > 0)
			err = snapshot_alloc(s, s->count);
		if (err)
			return err;
		err = cryo_look_interrupted(c);
		cond_resched();
	} while (!err && (s->done < s->count || s->room < s->count));
	return err;
}

/* After all pending signals: what expires in between is then known to the timer alone. */
int cryo_save_posix_timers(struct cryo_capture *c)
{
	struct cryo_posix_timers head = { .record_size = sizeof(struct cryo_posix_timer) };
	struct cryo_buf buf = {};
	struct snapshot s = {};
	unsigned int i;
	int err;

	err = take_timers(c, &s);
	s.count = s.kept;
	for (i = 0; !err && i < s.count; i++)
		if (s.obstacles[i])
			cryo_refuse(c, "POSIX timer %d: %s is not supported", s.out[i].id,
				    s.obstacles[i]);
	if (!err && (s.count || s.next_id)) {
		head.count = s.count;
		head.next_id = s.next_id;
		cryo_buf_put(&buf, &head, sizeof(head));
		cryo_buf_put(&buf, s.out, s.count * sizeof(*s.out));
		err = cryo_stream_buf(&c->stream, CRYO_SEC_POSIX_TIMERS, c->p->pid, sizeof(head),
				      &buf);
	}
	snapshot_free(&s);
	return err;
}
