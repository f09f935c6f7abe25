// SPDX-License-Identifier: GPL-2.0-only
/*
 * check_parent.c - can its parent fork a process into its namespaces?
 *
 * At the restart a process is forked by its parent, before or after the parent enters its own
 * namespaces, and goes on from there. But of a pid namespace that its parent is not in, it has to
 * be the first process.
 */
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/time_namespace.h>

#include "capture/capture.h"
#include "lib/locked_task.h"
#include "save/ns/namespaces.h"
#include "save/process.h"

/* Counted. NULL: it is not in the context. */
static struct task_struct *get_parent(struct cryo_capture *c, struct cryo_proc *p)
{
	struct task_struct *task = NULL;
	struct cryo_proc *parent;

	rcu_read_lock();
	parent = cryo_find_proc(c->req, rcu_dereference(p->task->real_parent));
	if (parent && cryo_proc_is_saved(parent))
		task = get_task_struct(parent->leader);
	rcu_read_unlock();
	return task;
}

static bool is_born_there(const struct cryo_proc *p, struct task_struct *parent)
{
	struct pid_namespace *ours = task_active_pid_ns(current);
	struct pid_namespace *own = ns_of_pid(p->tgid), *above = ours;

	if (parent)
		above = task_active_pid_ns(parent) ?: own;
	return own == above ||
	       (own != ours && own->parent == above && pid_nr_ns(p->tgid, own) == 1);
}

struct times {
	u32 own, for_children;	/* 0: the requester's, or given up */
};

static u32 time_ns_number(const struct time_namespace *ns)
{
	return ns == current->nsproxy->time_ns ? 0 : ns->ns.inum;
}

static struct times times_of(struct task_struct *task)
{
	struct times times = {};
	struct nsproxy *its;

	task_lock(task);
	its = cryo_nsproxy_of(task);
	if (its) {
		times.own = time_ns_number(its->time_ns);
		times.for_children = time_ns_number(its->time_ns_for_children);
	}
	task_unlock(task);
	return times;
}

/*
 * Nobody enters a time namespace that somebody has made for its children only: who is there has
 * been forked by that one, or by one that was.
 */
static bool is_made_by_other(struct cryo_capture *c, struct cryo_proc *p,
			     struct task_struct *parent)
{
	u32 own = times_of(p->task).own;
	struct cryo_proc *other;
	struct times times = {};

	if (parent)
		times = times_of(parent);
	/* The latter: it was forked before its parent made another one. */
	if (!own || times.for_children == own || times.own == own)
		return false;
	cryo_for_each_proc(other, c->req) {
		if (!cryo_proc_is_saved(other) || other->zombie)
			continue;
		times = times_of(other->task);
		if (times.for_children == own && times.own != own)
			return true;
	}
	return false;
}

void cryo_check_parent(struct cryo_capture *c, struct cryo_proc *p)
{
	struct task_struct *parent = get_parent(c, p);

	if (is_made_by_other(c, p, parent))
		cryo_refuse(c, p, "a time namespace made for children by a process that is not its parent is not supported");
	if (!is_born_there(p, parent))
		cryo_refuse(c, p, "a process whose parent is outside its pid namespace, and that is not the init of that namespace, is not supported");
	if (parent)
		put_task_struct(parent);
}
