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
void cryo_timed_waits_init(void);
void cryo_timed_waits_find(struct cryo_request *req, struct cryo_parked *p);
bool cryo_timed_wait_found(struct cryo_parked *p);
void cryo_timed_wait_arm(s64 remaining_ns, u32 nr, unsigned long first);
long cryo_timed_restart(struct restart_block *rb);
void cryo_timed_waits_disarm(void);
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
void cryo_restart_block_save(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task,
			     struct cryo_thread *out);
int cryo_restart_block_check(const struct cryo_restart_block *rb);
void cryo_restart_block_set(const struct cryo_restart_block *rb);

#endif /* CRYO_SYSCALLS_SYSCALLS_H */
