// SPDX-License-Identifier: GPL-2.0-only
/* pending.c - who has not come to rest, or is on its way there: see freeze.c */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include <cryo/ioctl.h>

#include "freeze/freeze.h"
#include "request/request.h"
#include "request/scope.h"

/* Nothing tells when their tracers let them go. */
int cryo_refuse_traced(struct cryo_request *req)
{
	struct cryo_parked *p;
	int err = 0;

	/* When they have been frozen once, what it was for is done without. */
	if (req->args.flags & CRYO_CKPT_PTRACED_ALLOW || req->freeze_ns)
		return 0;
	list_for_each_entry(p, &req->parked, node) {
		cond_resched();
		if (READ_ONCE(p->state) != CRYO_PARK_ASKED || !task_is_traced(p->task))
			continue;
		cryo_log(&req->log, "pid %d (%s): thread %d: is being traced (ptrace), and stopped by its tracer",
			 p->proc->pid, p->proc->comm, task_pid_vnr(p->task));
		req->obstacles |= CRYO_OBSTACLE_PTRACED;
		err = -EOPNOTSUPP;
	}
	return err;
}

/* What else is to be said of one that has not come. */
static const char *why_pending(struct task_struct *task)
{
	if (task_is_traced(task))
		return " (stopped by its tracer)";
	return task->vfork_done || task_state_to_char(task) != 'D' ? "" :
	       " (uninterruptible, or waits for a vfork() child)";
}

static void name_pending_of(struct cryo_request *req, struct list_head *list)
{
	struct cryo_parked *p;
	char comm[TASK_COMM_LEN];

	list_for_each_entry(p, list, node) {
		if (READ_ONCE(p->state) != CRYO_PARK_ASKED)
			continue;
		get_task_comm(comm, p->task);
		cryo_log(&req->log,
			 "pid %d (%s), thread %d (%s): cannot be frozen: state %c%s",
			 p->proc->pid, p->proc->comm, task_pid_vnr(p->task), comm,
			 task_state_to_char(p->task), why_pending(p->task));
	}
}

/* Those that have gone on in the middle of a call, and not been asked again yet. */
void cryo_freeze_name_within(struct cryo_request *req)
{
	struct cryo_parked *p;
	char comm[TASK_COMM_LEN];

	list_for_each_entry(p, &req->parked, node) {
		cond_resched();
		if (READ_ONCE(p->state) != CRYO_PARK_GONE || !READ_ONCE(p->within))
			continue;
		get_task_comm(comm, p->task);
		cryo_log(&req->log,
			 "pid %d (%s), thread %d (%s): cannot be frozen: is in the middle of a system call that does not end",
			 p->proc->pid, p->proc->comm, task_pid_vnr(p->task), comm);
	}
}

/*
 * Are all that have not come in uninterruptible sleep, in which they may wait for one that has?
 */
bool cryo_freeze_stuck(struct cryo_request *req)
{
	bool parked = false, waits = false;
	struct cryo_parked *p;

	list_for_each_entry(p, &req->parked, node) {
		enum cryo_park_state state = READ_ONCE(p->state);

		bool asked = state == CRYO_PARK_ASKED;

		if (asked && (READ_ONCE(p->at_work) ||
			      !(READ_ONCE(p->task->__state) & TASK_UNINTERRUPTIBLE)))
			return false;
		waits |= asked;
		parked |= state == CRYO_PARK_PARKED && !p->self;
		cond_resched();
	}
	return waits && parked;
}

/*
 * Have more processes or threads come and gone than are kept, beside the @threads that the first
 * look has found?
 */
bool cryo_freeze_overrun(struct cryo_request *req, unsigned int threads)
{
	struct cryo_parked *p;
	unsigned int gone = 0;

	list_for_each_entry(p, &req->parked, node) {
		gone += READ_ONCE(p->state) == CRYO_PARK_GONE;
		cond_resched();
	}
	return gone > threads + CRYO_MAX_GONE || cryo_scope_overrun(req);
}

void cryo_freeze_name_pending(struct cryo_request *req)
{
	name_pending_of(req, &req->parked);
	name_pending_of(req, &req->pollers);
	/* And those that were not even asked: a vfork() child. */
	cryo_scope_settle(req, true);
}

bool cryo_task_on_cpu(struct task_struct *task)
{
	/*
	 * Pairs with the store in finish_task(): once it is off the CPU, its registers are saved.
	 */
	return smp_load_acquire(&task->on_cpu);
}

/* A parked task has set its state, but may still be on its way off the CPU. */
int cryo_wait_off_cpu(struct cryo_request *req)
{
	struct cryo_parked *p;
	int err = 0;

	list_for_each_entry(p, &req->parked, node) {
		/* Pairs with set_park_state(). */
		while (!err && !p->self && smp_load_acquire(&p->state) == CRYO_PARK_PARKED &&
		       cryo_task_on_cpu(p->task)) {
			err = cryo_request_interrupted(req);
			cond_resched();
			cpu_relax();
		}
		if (err)
			return err;
		cond_resched();
	}
	return 0;
}
