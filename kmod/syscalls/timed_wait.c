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
 * All of these calls sleep by a timer on their kernel stack, which names its thread and the
 * kernel's function that wakes it: it is looked for there. The queues of timers, in which others
 * may have any number, are left alone.
 *
 * The restart function is in this module.  A thread that is inside it holds a
 * reference to the module; one that has it in its restart block, but not been there
 * yet, has it taken out when the module goes.
 */
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/ktime.h>
#include <linux/thread_info.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <asm/syscall.h>

#include "compat/hrtimer.h"
#include "compat/ksym.h"
#include "cryo_arch.h"
#include "lib/unload.h"
#include "request/request.h"
#include "syscalls/clocks.h"
#include "syscalls/syscalls.h"
#include "syscalls/waiting_calls.h"

/*
 * A thread that is looked at can wake up by itself before it is interrupted, and wait for something
 * else then, with another timeout. That takes another voluntary context switch. Who has armed the
 * timer and is still on a CPU is about to make the one for this wait.
 */
static unsigned long switches_when_asleep(struct task_struct *task)
{
	return READ_ONCE(task->nvcsw) + READ_ONCE(task->on_cpu);
}

/* The function of all timers that wake a sleeper. */
static void *wakeup;

void __init cryo_timed_waits_init(void)
{
	struct hrtimer_sleeper sleeper;

	cryo_hrtimer_sleeper_on_stack(&sleeper);
	wakeup = cryo_hrtimer_function(&sleeper.timer);
	destroy_hrtimer_on_stack(&sleeper.timer);
}

/* Is there, at @at, what @task sleeps by? A copy of it in @sleeper. */
static bool is_sleeper(struct task_struct *task, const void *at, struct hrtimer_sleeper *sleeper)
{
	return !copy_from_kernel_nofault(sleeper, at, sizeof(*sleeper)) &&
	       sleeper->task == task && cryo_hrtimer_function(&sleeper->timer) == wakeup &&
	       hrtimer_is_queued(&sleeper->timer);
}

/*
 * The timer that @task sleeps by, on its stack. Both may change or end at any time, as the thread
 * may: so nothing is followed, and the stack is read as memory that need not be there.
 */
static bool find_sleeper(struct task_struct *task, struct hrtimer_sleeper *sleeper)
{
	const char *stack = READ_ONCE(task->stack), *at;
	const size_t offset = offsetof(struct hrtimer_sleeper, task);
	unsigned long words[32];
	size_t pos, i;

	for (pos = 0; stack && pos < THREAD_SIZE; pos += sizeof(words)) {
		if (copy_from_kernel_nofault(words, stack + pos, sizeof(words)))
			return false;
		for (i = 0; i < ARRAY_SIZE(words); i++) {
			if (words[i] != (unsigned long)task || pos + i * sizeof(long) < offset)
				continue;
			at = stack + pos + i * sizeof(long) - offset;
			if (is_sleeper(task, at, sleeper))
				return true;
		}
	}
	return false;
}

/*
 * With RCU: the call that it is in, as far as its registers tell while it may still run; negative:
 * none.
 */
static int number_of_call(struct task_struct *task)
{
	struct pt_regs *regs = task_pt_regs(task);

	/* From no stack: it has just been given back. One that has been there is kept by RCU. */
	if ((unsigned long)regs <= THREAD_SIZE)
		return -1;
	return syscall_get_nr(task, regs);
}

/* Is it in a call that may have to be continued? */
static bool is_in_timed_call(struct task_struct *task)
{
	int nr = number_of_call(task);

	return nr >= 0 && cryo_timed_wait_known(nr);
}

bool cryo_may_begin_to_wait(struct task_struct *task)
{
	int nr;

	rcu_read_lock();
	nr = number_of_call(task);
	rcu_read_unlock();
	return nr >= 0 && cryo_waits_after_reading(nr);
}

/* With RCU, which keeps its stack. */
static void look_for_wait(struct cryo_parked *p)
{
	unsigned long switches = switches_when_asleep(p->task);
	struct hrtimer_sleeper sleeper, again;
	clockid_t clock;

	if (!is_in_timed_call(p->task) || !find_sleeper(p->task, &sleeper) ||
	    get_kernel_nofault(clock, &sleeper.timer.base->clockid))
		return;
	/* The same wait all the time, or what has been copied may be of two. */
	if (!find_sleeper(p->task, &again) || memcmp(&sleeper, &again, sizeof(again)) ||
	    switches_when_asleep(p->task) != switches)
		return;
	p->wait_ns = ktime_to_ns(ktime_sub(hrtimer_get_softexpires(&sleeper.timer),
					   cryo_clock_now(clock)));
	p->wait_switches = switches;
	p->has_wait = true;
}

void cryo_timed_waits_find(struct cryo_request *req, struct cryo_parked *p)
{
	list_for_each_entry_continue(p, &req->parked, node) {
		rcu_read_lock();
		look_for_wait(p);
		rcu_read_unlock();
		cond_resched();
	}
}

/*
 * In the thread, which has been interrupted: in the wait that was found? If not, its call begins
 * anew.
 */
bool cryo_timed_wait_found(struct cryo_parked *p)
{
	return p->has_wait && current->nvcsw == p->wait_switches && !cryo_is_filtered();
}

void cryo_timed_wait_arm(s64 remaining_ns, u32 nr, unsigned long first)
{
	struct restart_block *rb = &current->restart_block;

	rb->futex.val = nr;
	rb->futex.uaddr = (u32 __user *)first;
	rb->futex.time = ktime_add_safe(ktime_get(), remaining_ns);
	arch_set_restart_data(rb);
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
	if (cryo_is_filtered())
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
		arch_set_restart_data(rb);
		/* As in cryo_timed_wait_arm(). */
		smp_store_release(&rb->fn, cryo_timed_restart);
		ret = -ERESTART_RESTARTBLOCK;
	}
	module_put(THIS_MODULE);
	cryo_unload_put();
	return ret;
}

void cryo_timed_waits_disarm(void)
{
	struct task_struct *leader, *task;

	rcu_read_lock();
	for_each_process_thread(leader, task)
		cmpxchg(&task->restart_block.fn, cryo_timed_restart, cryo_fn_no_restart);
	rcu_read_unlock();
}
