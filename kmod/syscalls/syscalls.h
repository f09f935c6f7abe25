/* SPDX-License-Identifier: GPL-2.0-only */
/* syscalls.h - system calls that were interrupted, and go on */
#ifndef CRYO_SYSCALLS_SYSCALLS_H
#define CRYO_SYSCALLS_SYSCALLS_H

#include <linux/sched.h>
#include <linux/types.h>

struct cryo_capture;
struct cryo_parked;
struct cryo_proc;
struct cryo_request;
struct cryo_restart_block;
struct cryo_thread;
struct restart_block;
struct task_struct;

/* timed_wait.c: calls with a relative timeout that the kernel cannot continue */

/**
 * cryo_timed_waits_init() - find out which function the timers of sleeping tasks have, which is not
 *	exported
 *
 * Context: In the module's init.
 */
void cryo_timed_waits_init(void);

/**
 * cryo_timed_waits_find() - note what is left of the timed waits of threads that are about to be
 *	interrupted
 * @req: the request
 * @p: the one in @req->parked before the first of them; gets nothing itself
 *
 * Sets @has_wait, @wait_ns and @wait_switches of those that sleep by a timer in a call that
 * cryo_timed_wait_known() knows.
 *
 * Context: In the requester, before the task works are queued: interrupting a sleep cancels its
 * timer. May sleep.
 */
void cryo_timed_waits_find(struct cryo_request *req, struct cryo_parked *p);

/**
 * cryo_timed_wait_found() - has the thread been interrupted in the wait that
 *	cryo_timed_waits_find() has found?
 * @p: the thread, current
 *
 * Context: In the task work.
 *
 * Return: true: it has, and its call may be continued with @p->wait_ns; false: the call is made
 * again. Always false of a thread with a seccomp filter, which would not see the number of the
 * call.
 */
bool cryo_timed_wait_found(struct cryo_parked *p);

/**
 * cryo_timed_wait_arm() - have restart_syscall(2) continue a system call of current with the time
 *	that is left
 * @remaining_ns: that time, from now
 * @nr: number of the call, whose arguments are in the registers
 * @first: its first argument, which the result may have replaced in its register
 *
 * Context: In current, in a task work.
 */
void cryo_timed_wait_arm(s64 remaining_ns, u32 nr, unsigned long first);

long cryo_timed_restart(struct restart_block *rb);

/**
 * cryo_timed_waits_disarm() - take the module's restart function out of all threads
 *
 * A thread that was about to continue gets EINTR.
 *
 * Context: In the module's exit, between two cryo_unload_wait(): no thread is in a continued call,
 * and none begins one.
 */
void cryo_timed_waits_disarm(void);

/**
 * cryo_may_begin_to_wait() - is a sleeping thread in a call that may not have begun to wait for its
 *	event?
 * @task: the thread
 *
 * Context: Any; takes rcu_read_lock().
 *
 * Return: true: it is, by cryo_waits_after_reading().
 */
bool cryo_may_begin_to_wait(struct task_struct *task);

/*
 * In the requester, which is about to interrupt @task: the number of its voluntary context switches
 * when it sleeps, and not where its tracer or job control has stopped it; ULONG_MAX when it does
 * not. It goes on in that sleep as long as it has the same number.
 */
static inline unsigned long cryo_sleep_of(struct task_struct *task)
{
	unsigned long switches = READ_ONCE(task->nvcsw);

	/* Nor where the kernel itself has been preempted. */
	if (READ_ONCE(task->__state) == TASK_RUNNING || task_is_stopped_or_traced(task))
		return ULONG_MAX;
	/* Pairs with the store in finish_task(), as in freeze.c. */
	return smp_load_acquire(&task->on_cpu) ? ULONG_MAX : switches;
}

/* restart_block.c: system calls that go on by restart_syscall(2) */

/**
 * cryo_restart_block_save() - describe the restart block of a thread
 * @c: the capture
 * @p: the process
 * @task: a thread of it, parked
 * @out: gets it
 *
 * One of a function that is unknown is refused, by cryo_refuse(), if the registers say that it is
 * going to be used. A known one is saved in any case: the thread may be just before its
 * restart_syscall(2).
 *
 * Context: In the requester.
 */
void cryo_restart_block_save(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task,
			     struct cryo_thread *out);

/**
 * cryo_restart_block_check() - may a restart block that has come from user space be set?
 * @rb: the restart block; addresses in it are not checked, as their users do that
 *
 * Return: 0; -EINVAL: it is none that a context can have; -EOPNOTSUPP: this kernel lacks its
 * function.
 */
int cryo_restart_block_check(const struct cryo_restart_block *rb);

/**
 * cryo_restart_block_set() - set the restart block of current
 * @rb: the restart block, for which cryo_restart_block_check() has returned 0
 *
 * Remaining times are counted from now.
 *
 * Context: In the thread that is restarted, in its task work.
 */
void cryo_restart_block_set(const struct cryo_restart_block *rb);

#endif /* CRYO_SYSCALLS_SYSCALLS_H */
