// SPDX-License-Identifier: GPL-2.0-only
/*
 * outsiders.c - what processes of the context have in common with those that are left out:
 * children, memory, descriptors, a working directory, semaphore adjustments
 *
 * One walk over all threads there are, for all processes of the context together. Those who are
 * left out run on: what they have is compared with what the context's have, and never followed.
 */
#include <linux/atomic.h>
#include <linux/fdtable.h>
#include <linux/fs_struct.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include <cryo/ioctl.h>

#include "capture/capture.h"
#include "lib/locked_task.h"
#include "lib/walk_tasks.h"
#include "save/process.h"

#define SHOWN_CHILDREN	16

static const char * const not_shared[CRYO_NR_SHARED] = {
	[CRYO_SHARED_FILES] = "descriptors shared with a process outside the checkpoint (CLONE_FILES) are not supported",
	[CRYO_SHARED_FS] = "a working directory shared with a process outside the checkpoint (CLONE_FS) is not supported",
	[CRYO_SHARED_UNDO] = CRYO_UNDO_SHARED,
};

/* With rcu_read_lock(): the process of the context of which @task is a child. */
static struct cryo_proc *saved_parent(struct cryo_capture *c, struct task_struct *task)
{
	struct cryo_proc *parent;

	if (c->req->args.scope == CRYO_SCOPE_TREE || !thread_group_leader(task) ||
	    cryo_find_proc(c->req, task))
		return NULL;
	parent = cryo_find_proc(c->req, rcu_dereference(task->real_parent));
	return parent && cryo_proc_is_saved(parent) ? parent : NULL;
}

/*
 * Is @task of no process of the context, and what has that to do with those that are? With
 * rcu_read_lock().
 */
static bool concerns_job(void *arg, struct task_struct *task)
{
	struct cryo_capture *c = arg;
	struct cryo_proc *p;
	enum cryo_shared what;

	if (task->flags & PF_KTHREAD)
		return false;
	p = cryo_find_proc(c->req, task);
	if (p && cryo_proc_is_saved(p))
		return false;
	if (saved_parent(c, task))
		return true;
	for (what = 0; what < CRYO_NR_SHARED; what++)
		if (cryo_sharers_with(c, what, task))
			return true;
	return false;
}

static void note_child(struct cryo_capture *c, struct task_struct *task)
{
	char who[CRYO_WHO_MAX];
	struct cryo_proc *parent;

	rcu_read_lock();
	parent = saved_parent(c, task);
	rcu_read_unlock();
	if (!parent || parent->children_left_out++ >= SHOWN_CHILDREN)
		return;
	cryo_describe_task(task, who, sizeof(who));
	cryo_warn(c, parent, "%s %s is outside the checkpoint",
		  READ_ONCE(task->exit_state) ? "zombie" : "child process", who);
}

static void note_sharing(struct cryo_capture *c, struct task_struct *task)
{
	char who[CRYO_WHO_MAX];
	struct cryo_sharer *with;
	enum cryo_shared what;

	for (what = 0; what < CRYO_NR_SHARED; what++) {
		with = cryo_sharers_with(c, what, task);
		/*
		 * Once for all that have it. Who has signal handlers in common has memory in
		 * common, too.
		 */
		if (!with || with->told || what == CRYO_SHARED_SIGHAND)
			continue;
		with->told = true;
		if (what != CRYO_SHARED_MM) {
			cryo_refuse(c, with->proc, "%s", not_shared[what]);
			continue;
		}
		cryo_sharers_leave_memory(c, with);
		cryo_describe_task(task, who, sizeof(who));
		cryo_refuse(c, with->proc, "memory shared with %s outside the checkpoint (CLONE_VM, vfork) is not supported",
			    who);
	}
}

/* More users than the process has threads: worth a look at all there are. */
static bool may_be_shared(struct cryo_proc *p)
{
	/* A main thread that has exited counts, and holds nothing. */
	unsigned int threads = READ_ONCE(p->task->signal->nr_threads) -
			       !thread_group_leader(p->task);
	struct cryo_undo_list *undo;
	bool shared;

	task_lock(p->task);
	undo = cryo_semundo_of(p->task);
	shared = (p->task->files && atomic_read(&p->task->files->count) > threads) ||
		 (p->task->fs && p->task->fs->users > threads) ||
		 (undo && refcount_read(&undo->refcnt) > READ_ONCE(p->task->signal->nr_threads));
	task_unlock(p->task);
	/* One is ours. */
	return shared || atomic_read(&p->mm->mm_users) > threads + 1;
}

static bool is_worth_it(struct cryo_capture *c)
{
	struct cryo_proc *p;
	bool is = c->req->args.scope != CRYO_SCOPE_TREE;

	cryo_for_each_proc(p, c->req) {
		is = is || (cryo_proc_is_saved(p) && may_be_shared(p));
		if (is)
			break;
		cond_resched();
	}
	return is;
}

static void say_more_children(struct cryo_capture *c)
{
	struct cryo_proc *p;

	cryo_for_each_proc(p, c->req) {
		if (p->children_left_out > SHOWN_CHILDREN)
			cryo_warn(c, p, "and %u more children",
				  p->children_left_out - SHOWN_CHILDREN);
		cond_resched();
	}
}

int cryo_check_outsiders(struct cryo_capture *c)
{
	struct task_struct *found[CRYO_WALK_FOUND];
	unsigned int n, i;
	int at = 1, err = 0;

	if (!is_worth_it(c))
		return 0;
	do {
		n = cryo_walk_tasks(PIDTYPE_PID, concerns_job, c, found, &at);
		for (i = 0; i < n; i++) {
			note_child(c, found[i]);
			note_sharing(c, found[i]);
			put_task_struct(found[i]);
		}
		cond_resched();
		err = cryo_capture_interrupted(c);
	} while (at && !err);
	say_more_children(c);
	return err;
}
