// SPDX-License-Identifier: GPL-2.0-only
/*
 * pid_ns.c - pid namespaces below the requester's, and the numbers that processes have there
 *
 * A namespace ends with its first process, so that one has to be in the scope. Before it and after
 * it, the namespace is of use to nobody but who has it for his children.
 */
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "lib/buf.h"
#include "lib/locked_task.h"
#include "save/ns/namespaces.h"

static struct pid_namespace *our_pid_ns(void)
{
	return task_active_pid_ns(current);
}

/* @ns counted, or kept by a process that is. */
static bool has_first(struct cryo_capture *c, struct pid_namespace *ns)
{
	struct task_struct *first;
	bool has;

	rcu_read_lock();
	/* When nobody is left there, it is an old pointer. */
	first = cryo_pid_ns_flags(ns) ? NULL : READ_ONCE(ns->child_reaper);
	has = first && cryo_find_proc(c->req, first);
	rcu_read_unlock();
	return has;
}

/*
 * Nobody is there, and the pointer to its first process is none or an old one. Only a fork of the
 * process that has it for its children can change that: nobody else can get at it.
 */
u32 cryo_pid_ns_flags(const struct pid_namespace *ns)
{
	switch (READ_ONCE(ns->pid_allocated)) {
	case PIDNS_ADDING:
		return CRYO_PIDNS_UNUSED;
	case 0:
		return CRYO_PIDNS_ENDED;
	default:
		return 0;
	}
}

static void check_children_ns(struct cryo_capture *c, struct cryo_proc *p,
			      const struct user_namespace *user,
			      struct pid_namespace *own, struct pid_namespace *children)
{
	bool empty = cryo_pid_ns_flags(children);

	if (children->parent != own || (!empty && !has_first(c, children)))
		cryo_refuse(c, p, "a pid namespace for its children without its first process is not supported");
	else if (READ_ONCE(p->task->signal->nr_threads) > 1)
		cryo_refuse(c, p, "threads with a pid namespace for their children are not supported");
	else if (empty && children->user_ns != user)
		cryo_refuse(c, p, "a pid namespace without processes for its children that is of another user namespace is not supported");
}

/*
 * Counted: nobody but its nsproxy may have it, and who was stopped and is killed gives that up.
 * NULL: it has.
 */
static struct pid_namespace *get_children_ns(struct task_struct *task)
{
	struct pid_namespace *ns = NULL;
	struct nsproxy *in;

	task_lock(task);
	in = cryo_nsproxy_of(task);
	if (in)
		ns = get_pid_ns(in->pid_ns_for_children);
	task_unlock(task);
	return ns;
}

void cryo_check_pid_namespaces(struct cryo_capture *c, struct cryo_proc *p,
			       const struct user_namespace *user)
{
	/* Kept by its number, which is counted. */
	struct pid_namespace *own = ns_of_pid(p->tgid), *ns;
	struct pid_namespace *children = get_children_ns(p->task);

	for (ns = own; ns && ns != our_pid_ns(); ns = ns->parent)
		if (!has_first(c, ns))
			cryo_refuse(c, p, "a pid namespace whose init is outside the checkpoint is not supported");
	if (!children)
		return;
	if (children != own)
		check_children_ns(c, p, user, own, children);
	put_pid_ns(children);
}

static void put_levels(struct cryo_buf *buf, const struct pid *pid, u32 *count)
{
	struct cryo_nested_id out = {};
	unsigned int level;

	if (!pid)
		return;
	out.id = pid_nr_ns((struct pid *)pid, our_pid_ns());
	for (level = our_pid_ns()->level + 1; level <= pid->level; level++) {
		out.ns = pid->numbers[level].ns->ns.inum;
		out.number = pid->numbers[level].nr;
		cryo_buf_put(buf, &out, sizeof(out));
		++*count;
	}
}

/* Of all threads, the process group and the session. */
int cryo_save_pids(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_array head = { .record_size = sizeof(struct cryo_nested_id) };
	struct pid *group, *session;
	struct cryo_parked *t;
	struct cryo_buf buf = {};

	cryo_buf_put(&buf, &head, sizeof(head));
	rcu_read_lock();
	group = get_pid(task_pgrp(p->task));
	session = get_pid(task_session(p->task));
	rcu_read_unlock();
	put_levels(&buf, p->tgid, &head.count);
	for (t = cryo_next_thread(p, NULL); t; t = cryo_next_thread(p, t))
		if (task_pid(t->task) != p->tgid)
			put_levels(&buf, task_pid(t->task), &head.count);
	if (group != p->tgid)
		put_levels(&buf, group, &head.count);
	if (session != p->tgid && session != group)
		put_levels(&buf, session, &head.count);
	put_pid(group);
	put_pid(session);
	if (!buf.error)
		((struct cryo_array *)buf.data)->count = head.count;
	return cryo_stream_buf(&c->stream, CRYO_SEC_PIDS, p->pid, sizeof(head), &buf);
}
