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

#include "compat/ipc.h"
#include "compat/ksym.h"
#include "compat/mm.h"
#include "cryo.h"

#define SHOWN_CHILDREN	16

/* Children of the process that are left out, up to @room of them counted in @found. Returns how many there are. */
static unsigned int find_children(struct cryo_capture *c, struct task_struct **found,
				  unsigned int room)
{
	struct task_struct *child, *t;
	unsigned int n = 0;

	/* children lists change under tasklist_lock, which is not ours: look at all processes. */
	rcu_read_lock();
	for_each_process(child) {
		t = rcu_dereference(child->real_parent);
		if (!t || !same_thread_group(t, c->p->task) || cryo_find_proc(c->req, child))
			continue;
		if (n < room)
			found[n] = get_task_struct(child);
		n++;
	}
	rcu_read_unlock();
	return n;
}

static void check_children(struct cryo_capture *c)
{
	struct task_struct *found[SHOWN_CHILDREN];
	char who[CRYO_WHO_MAX];
	unsigned int n, i;

	if (c->req->args.scope == CRYO_SCOPE_TREE)
		return;
	n = find_children(c, found, SHOWN_CHILDREN);
	for (i = 0; i < min_t(unsigned int, n, SHOWN_CHILDREN); i++) {
		cryo_describe_task(found[i], who, sizeof(who));
		cryo_warn(c, "%s %s is left out",
			  READ_ONCE(found[i]->exit_state) ? "zombie" : "child process", who);
		put_task_struct(found[i]);
	}
	if (n > SHOWN_CHILDREN)
		cryo_warn(c, "and %u more children", n - SHOWN_CHILDREN);
}

static unsigned int users_of(struct cryo_capture *c, bool (*shares)(struct cryo_capture *c,
								    struct task_struct *task))
{
	struct task_struct *task;
	unsigned int n = 0;

	rcu_read_lock();
	for_each_process(task)
		n += !same_thread_group(task, c->p->task) && shares(c, task);
	rcu_read_unlock();
	return n;
}

static bool in_context(struct cryo_capture *c, struct task_struct *task)
{
	struct cryo_proc *p = cryo_find_proc(c->req, task);

	return p && !p->omitted && !p->gone;
}

static bool shares_files(struct cryo_capture *c, struct task_struct *task)
{
	return READ_ONCE(task->files) && READ_ONCE(task->files) == READ_ONCE(c->p->task->files) &&
	       !in_context(c, task);
}

static bool shares_fs(struct cryo_capture *c, struct task_struct *task)
{
	return READ_ONCE(task->fs) && READ_ONCE(task->fs) == READ_ONCE(c->p->task->fs) &&
	       !in_context(c, task);
}

/* More users than the process has threads: worth a look at all processes. */
static bool may_be_shared(struct cryo_capture *c)
{
	/* A main thread that has exited counts, and holds nothing. */
	unsigned int threads = READ_ONCE(c->p->task->signal->nr_threads) -
			       !thread_group_leader(c->p->task);
	bool shared;

	task_lock(c->p->task);
	shared = (c->p->task->files && atomic_read(&c->p->task->files->count) > threads) ||
		 (c->p->task->fs && c->p->task->fs->users > threads);
	task_unlock(c->p->task);
	/* One is ours. */
	return shared || atomic_read(&c->p->mm->mm_users) > threads + 1;
}

static bool shares_undo(struct cryo_capture *c, struct task_struct *task)
{
	return cryo_semundo(task) == cryo_semundo(c->p->task);
}

/* Not taken along twice: what one of them would undo is what the last one undoes. */
static void check_undo(struct cryo_capture *c)
{
	struct cryo_undo_list *list = cryo_semundo(c->p->task);

	if (!list || list_empty(&list->list_proc) ||
	    refcount_read(&list->refcnt) <= READ_ONCE(c->p->task->signal->nr_threads))
		return;
	if (users_of(c, shares_undo))
		cryo_refuse(c, "System V semaphore adjustments (SEM_UNDO) shared with another process (CLONE_SYSVSEM) are not supported");
}

static void check_sharing(struct cryo_capture *c)
{
	check_undo(c);
	if (!may_be_shared(c))
		return;
	cryo_check_sharing(c);
	if (users_of(c, shares_files))
		cryo_refuse(c, "descriptors shared with a process that is left out (CLONE_FILES) are not supported");
	if (users_of(c, shares_fs))
		cryo_refuse(c, "a working directory shared with a process that is left out (CLONE_FS) is not supported");
}

/* Threads have one list (CLONE_SYSVSEM) unless they were made, or have unshared, otherwise. */
static bool has_undo_of_its_own(struct cryo_capture *c, struct task_struct *task)
{
	struct cryo_undo_list *list = cryo_semundo(task);

	return list && list != cryo_semundo(c->p->task) && !list_empty(&list->list_proc);
}

static void check_thread(struct cryo_capture *c, struct task_struct *task)
{
	int tid = task_pid_vnr(task);

	if (task->ptrace && !(c->req->args.flags & CRYO_CKPT_PTRACED_ALLOW))
		cryo_refuse(c, "thread %d: is being traced (ptrace)", tid);
	if (!list_empty(&task->ptraced))
		cryo_refuse(c, "thread %d: traces other processes (ptrace)", tid);
	cryo_check_seccomp(c, task);
	if (cryo_task_landlocked(task))
		cryo_refuse(c, "thread %d: restrictions by Landlock are not supported", tid);
	cryo_check_uring(c, task);
	if (!list_empty(&task->perf_event_list))
		cryo_refuse(c, "thread %d: performance counters (perf_event_open) are not supported",
			    tid);
	if (READ_ONCE(task->files) != READ_ONCE(c->p->task->files))
		cryo_refuse(c, "thread %d: a descriptor table of its own is not supported", tid);
	cryo_check_fs(c, task);
	if (READ_ONCE(task->nsproxy) != READ_ONCE(c->p->task->nsproxy))
		cryo_refuse(c, "thread %d: namespaces of its own are not supported", tid);
	if (rcu_access_pointer(task->cred) != rcu_access_pointer(c->p->task->cred) &&
	    !cryo_same_creds(task, c->p->task))
		cryo_refuse(c, "thread %d: credentials of its own are not supported", tid);
	if (has_undo_of_its_own(c, task))
		cryo_refuse(c, "thread %d: System V semaphore adjustments (SEM_UNDO) of its own are not supported",
			    tid);
	if (cryo_task_syscall_dispatch(task))
		cryo_refuse(c, "thread %d: syscall user dispatch is not supported", tid);
}

/* What the areas do not tell. */
static void check_mm(struct cryo_capture *c)
{
	if (cryo_mm_has_aio(c->p->mm))
		cryo_refuse(c, "asynchronous I/O contexts (io_setup) are not supported");
	if (cryo_mm_mdwe(c->p->mm))
		cryo_refuse(c, "memory-deny-write-execute (PR_SET_MDWE) is not supported");
}

/* Refuse everything that would be lost. An error: it could not be looked at. */
int cryo_check_process(struct cryo_capture *c)
{
	int err = cryo_check_namespaces(c);
	struct cryo_parked *p;

	if (err)
		return err;
	check_children(c);
	check_sharing(c);
	if (!c->p->mm_saved)
		check_mm(c);
	if (c->p->task->signal->oom_mm)
		cryo_refuse(c, "is being killed for lack of memory");
	for (p = cryo_next_thread(c->p, NULL); p; p = cryo_next_thread(c->p, p)) {
		check_thread(c, p->task);
		err = cryo_look_interrupted(c);
		if (err)
			return err;
	}
	list_for_each_entry(p, &c->req->pollers, node)
		if (p->proc == c->p && READ_ONCE(p->state) != CRYO_PARK_GONE)
			cryo_check_uring(c, p->task);
	return 0;
}
