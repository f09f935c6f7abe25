// SPDX-License-Identifier: GPL-2.0-only
/*
 * timed_wait.c - calls with a relative timeout that the kernel cannot continue
 *
 * epoll_wait(), sigtimedwait(), semtimedop() and io_getevents() answer an
 * interruption with EINTR and forget how long they have waited.  Made to restart,
 * they would wait the whole time again.  So their sleep's timer is looked up
 * before they are interrupted, and they are continued, by restart_syscall(2),
 * with what was left.
 *
 * The restart function is in this module.  A thread that is inside it holds a
 * reference to the module; one that has it in its restart block, but not been there
 * yet, has it taken out when the module goes.
 */
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seccomp.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>

#include "compat/hrtimer.h"
#include "compat/ksym.h"
#include "cryo.h"
#include "cryo_arch.h"
#include "unload.h"

/*
 * A thread that is looked at can wake up by itself before it is interrupted, and wait for something else
 * then, with another timeout.  That takes another voluntary context switch.  Who has armed the timer and
 * is still on a CPU is about to make the one for this wait.
 */
static unsigned long switches_when_asleep(struct task_struct *task)
{
	return READ_ONCE(task->nvcsw) + READ_ONCE(task->on_cpu);
}

/* The queues of all CPUs, and the function of all timers that wake a sleeper. */
static struct hrtimer_cpu_base __percpu *bases;
static void *wakeup;

/* Neither is exported, and not all kernels tell the address of the queues; but each timer does. */
void __init cryo_timed_waits_init(void)
{
	struct hrtimer_sleeper sleeper;
	int cpu = get_cpu();

	cryo_hrtimer_sleeper_on_stack(&sleeper);
	bases = (struct hrtimer_cpu_base __percpu __force *)
		((unsigned long)sleeper.timer.base->cpu_base - per_cpu_offset(cpu));
	put_cpu();
	wakeup = cryo_hrtimer_function(&sleeper.timer);
	destroy_hrtimer_on_stack(&sleeper.timer);
}

static void note_sleeper(struct cryo_request *req, struct hrtimer *timer)
{
	struct hrtimer_sleeper *sleeper;
	struct cryo_parked *p;

	if (cryo_hrtimer_function(timer) != wakeup)
		return;
	sleeper = container_of(timer, struct hrtimer_sleeper, timer);
	if (!sleeper->task)
		return;
	p = cryo_find_parked(req, sleeper->task);
	if (!p)
		return;
	p->wait_ns = ktime_to_ns(ktime_sub(hrtimer_get_softexpires(timer),
					   cryo_hrtimer_now(timer)));
	p->wait_switches = switches_when_asleep(sleeper->task);
	p->has_wait = true;
}

/* A filter is to see each call by its own number: one that is continued by restart_syscall(2) would not be shown to it. */
static bool is_filtered(void)
{
	return seccomp_mode(&current->seccomp) != SECCOMP_MODE_DISABLED;
}

/* In the thread, which has been interrupted: in the wait that was found? If not, its call begins anew. */
bool cryo_timed_wait_found(struct cryo_parked *p)
{
	return p->has_wait && current->nvcsw == p->wait_switches && !is_filtered();
}

static void walk_base(struct cryo_request *req, struct hrtimer_clock_base *base)
{
	struct hrtimer *timer;

	cryo_for_each_hrtimer(timer, base)
		note_sleeper(req, timer);
}

/* Look for the timers of all threads of @req that sleep with a timeout. */
void cryo_timed_waits_find(struct cryo_request *req)
{
	struct hrtimer_cpu_base *cpu_base;
	unsigned long flags;
	int cpu, i;

	for_each_online_cpu(cpu) {
		cpu_base = per_cpu_ptr(bases, cpu);
		raw_spin_lock_irqsave(&cpu_base->lock, flags);
		for (i = 0; i < HRTIMER_MAX_CLOCK_BASES; i++)
			walk_base(req, &cpu_base->clock_base[i]);
		raw_spin_unlock_irqrestore(&cpu_base->lock, flags);
	}
}

/*
 * Let the call @nr, which is in @current's registers, go on for @remaining_ns by restart_syscall().
 * Where the result of a call is in the register of its first argument, that is lost: it is @first.
 */
void cryo_timed_wait_arm(s64 remaining_ns, u32 nr, unsigned long first)
{
	struct restart_block *rb = &current->restart_block;

	rb->futex.val = nr;
	rb->futex.uaddr = (u32 __user *)first;
	rb->futex.time = ktime_add_safe(ktime_get(), remaining_ns);
	/* The fields before the function that reads them: the module's exit looks from outside. */
	smp_store_release(&rb->fn, cryo_timed_restart);
}

/* restart_syscall(2) of @current. */
long cryo_timed_restart(struct restart_block *rb)
{
	s64 remaining = (s64)rb->futex.time - ktime_get_ns();
	u32 nr = rb->futex.val;
	long ret;

	rb->fn = cryo_fn_no_restart;
	if (is_filtered())
		return -EINTR;
	/* The reference keeps rmmod out, the count the few instructions behind its end. */
	if (!try_module_get(THIS_MODULE))
		return -EINTR;
	cryo_unload_get();
	ret = cryo_arch_continue_timed(nr, max_t(s64, remaining, 0));
	/*
	 * Interrupted again: by a handler, then EINTR it is; by a checkpoint, whose
	 * parking will arm it again with what is left then; or by what has no effect.
	 */
	if (ret == -EINTR || ret == -ERESTARTNOHAND) {
		rb->futex.val = nr;
		/* As in cryo_timed_wait_arm(). */
		smp_store_release(&rb->fn, cryo_timed_restart);
		ret = -ERESTART_RESTARTBLOCK;
	}
	module_put(THIS_MODULE);
	cryo_unload_put();
	return ret;
}

/* In module exit: nobody is inside, and nobody may come. */
void cryo_timed_waits_disarm(void)
{
	struct task_struct *leader, *task;

	rcu_read_lock();
	for_each_process_thread(leader, task)
		cmpxchg(&task->restart_block.fn, cryo_timed_restart, cryo_fn_no_restart);
	rcu_read_unlock();
}
