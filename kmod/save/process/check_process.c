// SPDX-License-Identifier: GPL-2.0-only
/*
 * check_process.c - what a process holds that is neither memory nor a descriptor
 * and cannot be saved: all of it, by name
 */
#include <linux/cred.h>
#include <linux/fdtable.h>
#include <linux/fs_struct.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include <cryo/ioctl.h>

#include "capture/capture.h"
#include "capture/uprobes.h"
#include "compat/ksym.h"
#include "compat/mm.h"
#include "lib/locked_task.h"
#include "lib/optional.h"
#include "resources.h"
#include "save/files/uring.h"
#include "save/ns.h"
#include "save/process.h"

/* Not taken along twice: what one of them would undo is what the last one undoes. */
static void check_undo(struct cryo_capture *c, struct cryo_proc *p)
{
	if (cryo_first_sharer(c, p, CRYO_SHARED_UNDO))
		cryo_refuse(c, p, CRYO_UNDO_SHARED);
}

/* Threads have one list (CLONE_SYSVSEM) unless they were made, or have unshared, otherwise. */
static bool has_undo_of_its_own(struct cryo_capture *c, struct cryo_proc *p,
				struct task_struct *task)
{
	return cryo_semundo_key(task) != cryo_semundo_key(p->task) && cryo_has_undo(task);
}

static void refuse_traced(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task)
{
	struct task_struct *tracer;
	char who[CRYO_WHO_MAX];

	c->req->obstacles |= CRYO_OBSTACLE_PTRACED;
	rcu_read_lock();
	tracer = get_task_struct(rcu_dereference(task->parent));
	rcu_read_unlock();
	cryo_describe_task(tracer, who, sizeof(who));
	put_task_struct(tracer);
	/* It may stand where he had stopped it, with a register that tells him of that. */
	if (!task->ptrace)
		strscpy(who, "one that has just let it go", sizeof(who));
	cryo_refuse(c, p, "thread %d: is being traced (ptrace) by %s", task_pid_vnr(task), who);
}

static void check_thread(struct cryo_capture *c, struct cryo_proc *p, struct cryo_parked *t)
{
	struct task_struct *task = t->task;
	int tid = task_pid_vnr(task);

	if ((task->ptrace || t->traced) && !(c->req->args.flags & CRYO_CKPT_PTRACED_ALLOW))
		refuse_traced(c, p, task);
	if (!list_empty(&task->ptraced)) {
		c->req->obstacles |= CRYO_OBSTACLE_PTRACER;
		cryo_refuse(c, p, "thread %d: traces other processes (ptrace)", tid);
	}
	cryo_check_seccomp(c, p, task);
	if (cryo_task_landlocked(task))
		cryo_refuse(c, p, "thread %d: restrictions by Landlock are not supported", tid);
	cryo_check_uring(c, p, task);
	cryo_check_uprobes(c, p, task);
	if (!list_empty(&task->perf_event_list))
		cryo_refuse(c, p, "thread %d: performance counters (perf_event_open) are not supported",
			    tid);
	if (READ_ONCE(task->files) != READ_ONCE(p->task->files))
		cryo_refuse(c, p, "thread %d: a descriptor table of its own is not supported", tid);
	if (READ_ONCE(task->nsproxy) != READ_ONCE(p->task->nsproxy))
		cryo_refuse(c, p, "thread %d: namespaces of its own are not supported", tid);
	if (has_undo_of_its_own(c, p, task))
		cryo_refuse(c, p, "thread %d: System V semaphore adjustments (SEM_UNDO) of its own are not supported",
			    tid);
	if (task->personality != p->task->personality)
		cryo_refuse(c, p, "thread %d: a personality(2) of its own is not supported", tid);
	if (cryo_task_syscall_dispatch(task))
		cryo_refuse(c, p, "thread %d: syscall user dispatch is not supported", tid);
}

/* What the areas do not tell. */
static void check_mm(struct cryo_capture *c, struct cryo_proc *p)
{
	if (cryo_mm_mdwe(p->mm))
		cryo_refuse(c, p, "memory-deny-write-execute (PR_SET_MDWE) is not supported");
}

/* Refuse everything that would be lost. An error: it could not be looked at. */
static int check_process(struct cryo_capture *c, struct cryo_proc *p)
{
	int err = cryo_check_namespaces(c, p) ?: cryo_find_directories(c, p);
	struct cryo_parked *t;

	if (err)
		return err;
	check_undo(c, p);
	cryo_check_sharing(c, p);
	if (!p->mm_saved)
		check_mm(c, p);
	if (p->task->signal->oom_mm)
		cryo_refuse(c, p, "is being killed by the OOM killer");
	for (t = cryo_next_thread(p, NULL); t; t = cryo_next_thread(p, t)) {
		check_thread(c, p, t);
		cryo_check_thread_fs(c, t);
		err = cryo_capture_interrupted(c);
		if (err)
			return err;
	}
	list_for_each_entry(t, &c->req->pollers, node)
		if (t->proc == p && READ_ONCE(t->state) != CRYO_PARK_GONE)
			cryo_check_uring(c, p, t->task);
	return 0;
}

const struct cryo_resource cryo_resource_process_obstacles = {
	.collect = check_process,
};
