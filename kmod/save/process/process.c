// SPDX-License-Identifier: GPL-2.0-only
/* process.c - what belongs to a process as a whole: ids, limits, umask */
#include <linux/cred.h>
#include <linux/fs_struct.h>
#include <linux/mm.h>
#include <linux/path.h>
#include <linux/pid.h>
#include <linux/prctl.h>
#include <linux/rcupdate.h>
#include <linux/resource.h>
#include <linux/sched/coredump.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/stat.h>

#include <cryo/format.h>

#include "access/access.h"
#include "access/consent.h"
#include "capture/capture.h"
#include "compat/mm.h"
#include "lib/buf.h"
#include "lib/optional.h"
#include "lib/sighand.h"
#include "request/participant.h"
#include "resources.h"
#include "save/process.h"
#include "save/process/opener.h"

static int parent_pid(struct task_struct *task)
{
	int pid;

	rcu_read_lock();
	pid = task_tgid_vnr(rcu_dereference(task->real_parent));
	rcu_read_unlock();
	return pid;
}

static int stop_signal(struct task_struct *task)
{
	int signr = task->jobctl & JOBCTL_STOP_SIGMASK;

	return signr ?: SIGSTOP;
}

/*
 * The signal of a stop that is under way: one thread has taken it, and others had parked before
 * they could join; or SIGSTOP, which all had. 0: there is none.
 */
static int begun_stop(struct cryo_proc *p)
{
	struct signal_struct *sig = p->task->signal;
	bool pending = sigismember(&sig->shared_pending.signal, SIGSTOP);
	struct cryo_parked *t;

	for (t = cryo_next_thread(p, NULL); t; t = cryo_next_thread(p, t)) {
		if (sig->group_stop_count && t->task->jobctl & JOBCTL_STOP_PENDING)
			return stop_signal(t->task);
		pending |= sigismember(&t->task->pending.signal, SIGSTOP);
	}
	return pending ? SIGSTOP : 0;
}

/* Nothing, where it has exited. */
static u32 stop_flags(struct cryo_proc *p, int *signal)
{
	struct sighand_struct *sighand = cryo_lock_sighand(p->task);
	struct signal_struct *sig = p->task->signal;
	u32 flags = 0;

	*signal = 0;
	if (!sighand)
		return 0;
	if (sig->flags & SIGNAL_STOP_STOPPED) {
		flags = CRYO_PROC_STOPPED | (sig->group_exit_code ? 0 : CRYO_PROC_STOP_WAITED);
		*signal = stop_signal(p->task);
	} else {
		*signal = begun_stop(p);
		if (*signal)
			flags = CRYO_PROC_STOPPED | CRYO_PROC_STOP_BEGUN;
	}
	if (sig->flags & SIGNAL_STOP_CONTINUED)
		flags |= CRYO_PROC_CONTINUED;
	cryo_unlock_sighand(sighand);
	return flags;
}

/* What a thread may say for itself alone (PR_SET_NO_NEW_PRIVS) the others need not have. */
static bool all_no_new_privs(struct cryo_proc *p)
{
	struct cryo_parked *t;

	for (t = cryo_next_thread(p, NULL); t; t = cryo_next_thread(p, t))
		if (!task_no_new_privs(t->task))
			return false;
	return true;
}

static u32 process_flags(struct cryo_proc *p)
{
	struct signal_struct *sig = p->task->signal;
	u32 flags = 0;

	p->no_new_privs = all_no_new_privs(p);
	if (p->no_new_privs)
		flags |= CRYO_PROC_NO_NEW_PRIVS;
	if (sig->leader)
		flags |= CRYO_PROC_SESSION_LEADER;
	if (sig->tty)
		flags |= CRYO_PROC_CTTY;
	if (sig->is_child_subreaper)
		flags |= CRYO_PROC_CHILD_SUBREAPER;
	if (cryo_has_consented(p->task))
		flags |= CRYO_PROC_CONSENTED;
	return flags;
}

static int save_process(struct cryo_capture *c, struct cryo_proc *p)
{
	struct task_struct *task = p->task;
	struct cryo_process out = {
		.pid = p->pid,
		.ppid = parent_pid(task),
		.pgid = task_pgrp_vnr(task),
		.sid = task_session_vnr(task),
		.flags = process_flags(p),
		.mm = p->mm_id,
		.personality = task->personality,
		.dumpable = cryo_get_dumpable(task, p->mm),
		.exit_signal = task->group_leader->exit_signal,
		.oom_score_adj = task->signal->oom_score_adj,
	};
	struct cryo_parked *t;

	for (t = cryo_next_thread(p, NULL); t; t = cryo_next_thread(p, t))
		out.threads++;
	if (!thread_group_leader(task)) {
		out.threads++;
		out.exit_code = task->group_leader->exit_code;
	}
	out.flags |= stop_flags(p, &out.stop_signal);
	task_lock(task);
	if (task->fs)
		out.umask = task->fs->umask;
	task_unlock(task);
	return cryo_stream_section(&c->stream, CRYO_SEC_PROCESS, out.pid, sizeof(out), &out,
				   sizeof(out));
}

static int save_rlimits(struct cryo_capture *c, struct cryo_proc *p)
{
	struct {
		struct cryo_array head;
		struct cryo_rlimit limit[RLIM_NLIMITS];
	} out = { .head = { RLIM_NLIMITS, sizeof(struct cryo_rlimit) } };
	struct rlimit *limit = p->task->signal->rlim;
	int i;

	task_lock(p->task->group_leader);
	for (i = 0; i < RLIM_NLIMITS; i++) {
		out.limit[i].cur = limit[i].rlim_cur;
		out.limit[i].max = limit[i].rlim_max;
	}
	task_unlock(p->task->group_leader);
	return cryo_stream_section(&c->stream, CRYO_SEC_RLIMITS, p->pid, sizeof(out.head),
				   &out, sizeof(out));
}

static u64 caps_of(kernel_cap_t cap)
{
	u64 value;

	/* Two u32, low word first, or one u64: the same bytes on little-endian machines. */
	BUILD_BUG_ON(sizeof(cap) != sizeof(value));
	memcpy(&value, &cap, sizeof(value));
	return value;
}

/* With the numbers that @ns has. */
static void fill_creds(struct cryo_creds *out, const struct cred *cred, struct user_namespace *ns)
{
	out->uid = from_kuid_munged(ns, cred->uid);
	out->euid = from_kuid_munged(ns, cred->euid);
	out->suid = from_kuid_munged(ns, cred->suid);
	out->fsuid = from_kuid_munged(ns, cred->fsuid);
	out->gid = from_kgid_munged(ns, cred->gid);
	out->egid = from_kgid_munged(ns, cred->egid);
	out->sgid = from_kgid_munged(ns, cred->sgid);
	out->fsgid = from_kgid_munged(ns, cred->fsgid);
	out->cap_inheritable = caps_of(cred->cap_inheritable);
	out->cap_permitted = caps_of(cred->cap_permitted);
	/* In the user namespace that they are of, and those below. */
	out->cap_effective = cred->user_ns == ns ? caps_of(cred->cap_effective) : 0;
	out->cap_bset = caps_of(cred->cap_bset);
	out->cap_ambient = caps_of(cred->cap_ambient);
	out->securebits = cred->securebits;
	out->nr_groups = cred->group_info->ngroups;
}

/*
 * Those that have no number in its own user namespace cannot be told from each other there, and may
 * not be set there either.
 */
static int save_outer_groups(struct cryo_capture *c, struct cryo_proc *p, const struct cred *cred)
{
	struct cryo_array head = { cred->group_info->ngroups, sizeof(u32) };
	struct cryo_buf buf = {};
	u32 gid;
	int i;

	if (cred->user_ns == current_user_ns())
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	for (i = 0; i < head.count; i++) {
		gid = from_kgid_munged(current_user_ns(), cred->group_info->gid[i]);
		cryo_buf_put(&buf, &gid, sizeof(gid));
	}
	return cryo_stream_buf(&c->stream, CRYO_SEC_OUTER_GROUPS, p->pid, sizeof(head), &buf);
}

/* With as many groups as @out says, all or none. */
static int put_creds(struct cryo_capture *c, const struct cryo_creds *out, const struct cred *cred,
		     struct user_namespace *ns, u16 section, u32 object)
{
	struct cryo_buf buf = {};
	u32 gid, i;

	cryo_buf_put(&buf, out, sizeof(*out));
	for (i = 0; i < out->nr_groups; i++) {
		gid = from_kgid_munged(ns, cred->group_info->gid[i]);
		cryo_buf_put(&buf, &gid, sizeof(gid));
	}
	return cryo_stream_buf(&c->stream, section, object, sizeof(*out), &buf);
}

static int save_creds(struct cryo_capture *c, const struct cred *cred, struct user_namespace *ns,
		      u16 section, u32 object)
{
	struct cryo_creds out = {};

	fill_creds(&out, cred, ns);
	return put_creds(c, &out, cred, ns, section, object);
}

/*
 * Of somebody whose process need not be in the scope: it may have passed on what it has opened. No
 * call tells a holder of a file more than whose it was; so groups and capabilities are for a
 * requester who could see or take them.
 */
static int save_openers_creds(struct cryo_capture *c, const struct cred *cred, u32 object)
{
	struct user_namespace *ns = current_user_ns();
	struct cryo_creds out = {};

	fill_creds(&out, cred, ns);
	if (cred->user_ns != ns) {
		out.cap_inheritable = 0;
		out.cap_permitted = 0;
		out.cap_bset = 0;
		out.cap_ambient = 0;
	}
	if (!cryo_may_see_creds(cred))
		out = (struct cryo_creds){
			.uid = out.fsuid, .euid = out.fsuid, .suid = out.fsuid, .fsuid = out.fsuid,
			.gid = out.fsgid, .egid = out.fsgid, .sgid = out.fsgid, .fsgid = out.fsgid,
		};
	return put_creds(c, &out, cred, ns, CRYO_SEC_FILE_OPENER, object);
}

/* Of a thread that has got other ones than its process by system calls of its own. */
static int save_thread_creds(struct cryo_capture *c, struct cryo_proc *p, struct cryo_parked *t)
{
	struct task_struct *task = t->task;
	const struct cred *cred;
	int err;

	if (rcu_access_pointer(task->cred) == rcu_access_pointer(p->task->cred) ||
	    cryo_same_creds(task, p->task) || cryo_is_helper(p, task))
		return 0;
	cred = get_task_cred(task);
	err = save_creds(c, cred, cred->user_ns, CRYO_SEC_THREAD_CREDS, task_pid_vnr(task));
	put_cred(cred);
	return err;
}

static bool may_the_same(const struct cred *a, const struct cred *b)
{
	const struct group_info *x = a->group_info, *y = b->group_info;

	return a->user_ns == b->user_ns &&
	       uid_eq(a->fsuid, b->fsuid) && gid_eq(a->fsgid, b->fsgid) &&
	       cap_issubset(a->cap_effective, b->cap_effective) &&
	       cap_issubset(b->cap_effective, a->cap_effective) &&
	       (x == y || (x->ngroups == y->ngroups &&
			   !memcmp(x->gid, y->gid, x->ngroups * sizeof(*x->gid))));
}

/*
 * Who opened a file that somebody else has now: a program has inherited it, whose rights are not
 * meant for the file's name.
 */
int cryo_save_opener(struct cryo_capture *c, struct cryo_object *o)
{
	const struct cred *holder;
	int err = 0;

	/* A connection that nobody has accepted. */
	if (!o->file)
		return 0;
	holder = get_task_cred(o->proc->task);
	if (!may_the_same(o->file->f_cred, holder))
		err = save_openers_creds(c, o->file->f_cred, o->id);
	put_cred(holder);
	return err;
}

static int save_process_creds(struct cryo_capture *c, struct cryo_proc *p)
{
	const struct cred *cred = get_task_cred(p->task);
	int err;

	/* The numbers that it would use itself. */
	err = save_creds(c, cred, cred->user_ns, CRYO_SEC_CREDS, p->pid) ?:
	      save_outer_groups(c, p, cred);
	put_cred(cred);
	return err;
}

/*
 * As whom it has exited, as its parent is told: that one's namespace is where it comes back, and
 * exits once more.
 */
static int save_zombie_creds(struct cryo_capture *c, struct cryo_proc *p)
{
	const struct cred *cred = get_task_cred(p->task), *parents;
	int err;

	rcu_read_lock();
	parents = get_task_cred(rcu_dereference(p->task->real_parent));
	rcu_read_unlock();
	err = save_creds(c, cred, parents->user_ns, CRYO_SEC_CREDS, p->pid);
	put_cred(parents);
	put_cred(cred);
	return err;
}

int cryo_save_zombie(struct cryo_capture *c, struct cryo_proc *p)
{
	struct task_struct *task = p->task;
	struct cryo_process out = {
		.pid = p->pid,
		.ppid = parent_pid(task),
		.pgid = task_pgrp_vnr(task),
		.sid = task_session_vnr(task),
		.flags = CRYO_PROC_ZOMBIE,
		.exit_signal = task->exit_signal,
		.exit_code = p->stand_in ? 0 : task->signal->flags & SIGNAL_GROUP_EXIT ?
			     task->signal->group_exit_code : task->exit_code,
	};
	struct cryo_buf buf = {};

	if (task->signal->leader)
		out.flags |= CRYO_PROC_SESSION_LEADER;
	cryo_buf_put(&buf, &out, sizeof(out));
	cryo_buf_put(&buf, p->comm, strnlen(p->comm, sizeof(p->comm)));
	return cryo_stream_buf(&c->stream, CRYO_SEC_PROCESS, out.pid, sizeof(out), &buf) ?:
	       save_zombie_creds(c, p);
}

const struct cryo_resource cryo_resource_process = {
	.save = save_process,
};

const struct cryo_resource cryo_resource_rlimits = {
	.save = save_rlimits,
};

const struct cryo_resource cryo_resource_creds = {
	.save = save_process_creds,
};

const struct cryo_thread_resource cryo_thread_resource_creds = {
	.save = save_thread_creds,
};
