// SPDX-License-Identifier: GPL-2.0-only
/*
 * check_parent.c - can its parent fork a process into its namespaces?
 *
 * At the restart a process is forked by its parent, which is in its own namespaces by then, and can
 * go on from there, but not back: who has forked it, and then entered others (unshare(1) in a
 * shell, by a builtin or a debugger), cannot do so again. And of a pid namespace that its parent is
 * not in, it has to be the first process.
 */
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/user_namespace.h>

#include "capture/capture.h"
#include "lib/locked_task.h"
#include "paths/mounts.h"
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

/* Has @its, a parent's, one of its own where @v has the requester's? */
static bool is_elsewhere(const struct nsproxy *its, const struct cryo_ns_view *v)
{
	const struct nsproxy *mine = current->nsproxy;

	return (its->uts_ns != mine->uts_ns && !v->ids.uts) ||
	       (its->ipc_ns != mine->ipc_ns && !v->ids.ipc) ||
	       (its->net_ns != mine->net_ns && !v->ids.net) ||
	       (its->cgroup_ns != mine->cgroup_ns && !v->ids.cgroup) ||
	       (its->time_ns != mine->time_ns && !v->ids.time);
}

static bool is_at_or_below(const struct user_namespace *ns, const struct user_namespace *top)
{
	for (; ns; ns = ns->parent)
		if (ns == top)
			return true;
	return false;
}

static bool has_gone_on(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *parent,
			const struct cryo_ns_view *v)
{
	const struct cred *cred = get_task_cred(parent);
	bool gone_on = !is_at_or_below(v->user, cred->user_ns);
	struct nsproxy *its;

	put_cred(cred);
	task_lock(parent);
	its = cryo_nsproxy_of(parent);
	if (its)
		gone_on |= is_elsewhere(its, v);
	task_unlock(parent);
	return gone_on || (cryo_mounts_number(c, parent) && !cryo_mounts_number(c, p->task));
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

/* After cryo_check_mounts(). */
void cryo_check_parent(struct cryo_capture *c, struct cryo_proc *p, const struct cryo_ns_view *v)
{
	struct task_struct *parent = get_parent(c, p);

	if (parent && has_gone_on(c, p, parent, v))
		cryo_refuse(c, p, "a parent that entered other namespaces after forking the process is not supported");
	if (!is_born_there(p, parent))
		cryo_refuse(c, p, "a process whose parent is outside its pid namespace, and that is not the init of that namespace, is not supported");
	if (parent)
		put_task_struct(parent);
}
