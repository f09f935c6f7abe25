// SPDX-License-Identifier: GPL-2.0-only
/*
 * save_sharing.c - memory and signal handlers that processes have in common without being threads of one
 * another (CLONE_VM, CLONE_SIGHAND)
 *
 * The first process of the context that has an address space brings it along, and the others name it.
 * No call gives a process the memory of another: clone(2) alone makes them share.  So each of them has to
 * be the child, or have the same parent, as another one (CLONE_PARENT).
 */
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "cryo.h"

typedef bool (*same_fn)(struct task_struct *a, struct task_struct *b);

/* Compared only, all of them: none is followed. */
static bool same_mm(struct task_struct *a, struct task_struct *b)
{
	return READ_ONCE(a->mm) && READ_ONCE(a->mm) == READ_ONCE(b->mm);
}

static bool same_sighand(struct task_struct *a, struct task_struct *b)
{
	return rcu_access_pointer(a->sighand) &&
	       rcu_access_pointer(a->sighand) == rcu_access_pointer(b->sighand);
}

static bool is_saved(struct cryo_proc *p)
{
	return p->task && !p->zombie && !p->gone && !p->omitted;
}

/* The first process of the context that has the same as this one; NULL: no other has. */
struct cryo_proc *cryo_first_with(struct cryo_capture *c, same_fn same)
{
	struct cryo_proc *p, *first = NULL;
	unsigned int n = 0;

	cryo_for_each_proc(p, c->req) {
		if (!is_saved(p) || !same(p->task, c->p->task))
			continue;
		if (!n++)
			first = p;
	}
	return n > 1 ? first : NULL;
}

/* With rcu_read_lock(): did the parent of @p, or whoever was that, not make it share? */
static bool is_top(struct cryo_capture *c, struct cryo_proc *p, same_fn same)
{
	struct cryo_proc *parent = cryo_find_proc(c->req, rcu_dereference(p->task->real_parent));

	return !parent || !is_saved(parent) || !same(parent->task, p->task);
}

/* With rcu_read_lock(): can @p be made by @top for the parent of both? */
static bool may_be_siblings(struct cryo_proc *top, struct cryo_proc *p)
{
	return same_thread_group(rcu_dereference(top->task->real_parent),
				 rcu_dereference(p->task->real_parent)) &&
	       top->task->group_leader->exit_signal == p->task->group_leader->exit_signal;
}

/* The process beside which c->p cannot be made, or NULL. */
static struct cryo_proc *stranger(struct cryo_capture *c, same_fn same)
{
	struct cryo_proc *p, *found = NULL;

	rcu_read_lock();
	cryo_for_each_proc(p, c->req) {
		if (!is_saved(p) || !same(p->task, c->p->task))
			continue;
		if (task_active_pid_ns(p->task) != task_active_pid_ns(c->p->task) ||
		    (is_top(c, c->p, same) && is_top(c, p, same) && !may_be_siblings(p, c->p))) {
			found = p;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/* With rcu_read_lock(): a process that has the memory of c->p and is left out, or NULL. */
static struct task_struct *find_outsider(struct cryo_capture *c)
{
	struct task_struct *process, *t;
	struct cryo_proc *known;

	for_each_process_thread(process, t) {
		if (t->flags & PF_KTHREAD || READ_ONCE(t->mm) != c->p->mm)
			continue;
		known = cryo_find_proc(c->req, t);
		if (!known || !is_saved(known))
			return t;
	}
	return NULL;
}

static void check_outsiders(struct cryo_capture *c)
{
	char comm[TASK_COMM_LEN];
	struct task_struct *task;
	int pid = 0;

	rcu_read_lock();
	task = find_outsider(c);
	if (task) {
		/* 0: the requester does not see it. */
		pid = task_tgid_vnr(task);
		strscpy(comm, task->comm, sizeof(comm));
	}
	rcu_read_unlock();
	if (task)
		cryo_refuse(c, "memory shared with pid %d (%s) that is left out (CLONE_VM, vfork) is not supported",
			    pid, comm);
}

static void check_strangers(struct cryo_capture *c, same_fn same, const char *what)
{
	struct cryo_proc *other = stranger(c, same);

	if (other)
		cryo_refuse(c, "sharing %s with pid %d (%s) of another parent, exit signal or pid namespace is not supported",
			    what, other->pid, other->comm);
}

/* Those who share it all have to be in the context. */
void cryo_check_sharing(struct cryo_capture *c)
{
	check_outsiders(c);
	check_strangers(c, same_mm, "memory");
	check_strangers(c, same_sighand, "signal handlers");
}

int cryo_save_sharing(struct cryo_capture *c)
{
	struct cryo_proc *mm = cryo_first_with(c, same_mm);
	struct cryo_proc *sighand = cryo_first_with(c, same_sighand);
	struct cryo_shared_memory out = {
		.mm = mm ? mm->pid : 0,
		.sighand = sighand ? sighand->pid : 0,
	};

	if (!mm)
		return 0;
	return cryo_stream_section(&c->stream, CRYO_SEC_SHARED_MEMORY, c->p->pid, sizeof(out), &out,
				   sizeof(out));
}
