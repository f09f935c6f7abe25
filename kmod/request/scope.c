// SPDX-License-Identifier: GPL-2.0-only
/*
 * scope.c - which processes belong to a request
 *
 * They are looked for among all processes, by their numbers, under RCU: the lists of children
 * change under tasklist_lock, which is not for modules. What one look may miss (a process that is
 * just being forked) the next one finds, and looking ends only when all that are known are at rest:
 * nobody is left to fork then. Each RCU section looks at some numbers only, and for each of them in
 * three tables, however many scopes participants have added.
 *
 * A process becomes part of the scope only if the requester may trace it, and, where a participant
 * has asked for it, he may look into it, too; that is asked before it is told, claimed or named.
 * One that may not be traced makes the request fail: without it the context would not be what was
 * asked for.
 *
 * A thread group is known by the address of its signal_struct, which stays the
 * same through exec() and is not used again while one of its tasks is referenced.
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/idr.h>
#include <linux/lockdep.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include <cryo/ioctl.h>

#include "access/access.h"
#include "lib/walk_tasks.h"
#include "request/exclusions.h"
#include "request/participant.h"
#include "request/request.h"
#include "request/scope.h"

/* A process belongs to one request at a time: those in CRYO_CKPT_RUN or held. By signal_struct. */
static DEFINE_SPINLOCK(claims_lock);
static DEFINE_HASHTABLE(claims, 10);

/* With rcu_read_lock(). */
static bool is_child(struct cryo_request *req, struct task_struct *task)
{
	return cryo_find_proc(req, rcu_dereference(task->real_parent));
}

static bool in_cgroup(struct cryo_request *req, struct task_struct *task)
{
#ifdef CONFIG_CGROUPS
	return cgroup_is_descendant(task_dfl_cgroup(task), task_dfl_cgroup(req->target));
#else
	return false;
#endif
}

/* With rcu_read_lock(): the parent of @task, if its children belong to the scope. */
static struct cryo_proc *parent_in_tree(struct cryo_request *req, struct task_struct *task)
{
	struct cryo_proc *parent = cryo_find_proc(req, rcu_dereference(task->real_parent));

	return parent && parent->tree ? parent : NULL;
}

/* NULL of one that has gone is nobody's group. */
static bool matches_scope(struct task_struct *task, u32 scope, struct pid *pid)
{
	if (!pid)
		return false;
	switch (scope) {
	case CRYO_SCOPE_PGRP:
		return task_pgrp(task) == pid;
	case CRYO_SCOPE_SESSION:
		return task_session(task) == pid;
	}
	return false;
}

/* The first who wants the group or session @pid. */
static struct cryo_forward *find_forward(struct cryo_request *req, u32 scope, struct pid *pid)
{
	struct cryo_forward *f;

	hash_for_each_possible(req->index->by_pid, f, hash, (unsigned long)pid)
		if (f->scope == scope && f->pid == pid)
			return f;
	return NULL;
}

/* With rcu_read_lock(). */
static struct cryo_forward *forward_of(struct cryo_request *req, struct task_struct *task)
{
	if (list_empty(&req->forwarded))
		return NULL;
	return find_forward(req, CRYO_SCOPE_PGRP, task_pgrp(task)) ?:
	       find_forward(req, CRYO_SCOPE_SESSION, task_session(task));
}

/*
 * With rcu_read_lock(). @on_behalf: the credentials of the participant who wants @task in the
 * scope, valid as long as the request has processes; NULL: the request does by itself.
 */
static bool in_scope(struct cryo_request *req, struct task_struct *task,
		     const struct cred **on_behalf)
{
	struct cryo_proc *parent = parent_in_tree(req, task);
	struct cryo_forward *f;

	*on_behalf = NULL;
	if (matches_scope(task, req->args.scope, req->scope_pid) ||
	    (req->args.scope == CRYO_SCOPE_CGROUP && in_cgroup(req, task)))
		return true;
	if (parent) {
		*on_behalf = parent->tree_for;
		return true;
	}
	f = forward_of(req, task);
	if (f)
		*on_behalf = f->cred;
	return f;
}

static bool is_dead_orphan(struct cryo_request *req, struct task_struct *task)
{
	return task->exit_state && thread_group_empty(task) && !is_child(req, task);
}

/* The requester is left out of its own scope, unless it says otherwise. */
static bool is_left_out(struct cryo_request *req, struct task_struct *task)
{
	return same_thread_group(task, current) && !(req->args.flags & CRYO_CKPT_SELF);
}

/* With rcu_read_lock(): is it traced, or tracing, in a way that the requester leaves out? */
static bool is_skipped(struct cryo_request *req, struct task_struct *task)
{
	u32 flags = req->args.flags;
	struct task_struct *t;

	if (!(flags & (CRYO_CKPT_PTRACED_SKIP | CRYO_CKPT_PTRACER_SKIP)))
		return false;
	__for_each_thread(task->signal, t)
		if ((flags & CRYO_CKPT_PTRACED_SKIP && READ_ONCE(t->ptrace)) ||
		    (flags & CRYO_CKPT_PTRACER_SKIP && !list_empty(&t->ptraced)))
			return true;
	return false;
}

#define MOST_ABOVE	128	/* that one RCU section asks of each number */

/*
 * With rcu_read_lock(), of a task that was alive in it: has it been made since the checkpoint by
 * one that has left itself out, or by one that has been made so? The latter are not taken either,
 * so the next one above that is decides. Who was there at the checkpoint is part of it, whoever
 * made him.
 */
static bool is_made_outside(struct cryo_request *req, struct task_struct *task)
{
	struct cryo_proc *above = NULL;
	unsigned int i;

	if (!req->freeze_ns)
		return false;
	for (i = 0; !above && task->pid && i < MOST_ABOVE; i++) {
		task = rcu_dereference(task->real_parent);
		above = cryo_find_proc(req, task);
	}
	return above && above->omitted;
}

/* With rcu_read_lock(). */
static bool process_wanted(void *arg, struct task_struct *task)
{
	struct cryo_request *req = arg;
	const struct cred *on_behalf;

	return !(task->flags & PF_KTHREAD) && task->exit_state != EXIT_DEAD &&
	       !is_left_out(req, task) && !cryo_find_proc(req, task) &&
	       in_scope(req, task, &on_behalf) && !is_dead_orphan(req, task) &&
	       !is_made_outside(req, task) && !is_skipped(req, task);
}

static bool has_memory(void *arg, struct task_struct *thread)
{
	return READ_ONCE(thread->mm);
}

/* A thread of the process of @task that still has its memory, or @task itself; counted. */
static struct task_struct *any_thread(struct task_struct *task)
{
	struct cryo_thread_walk walk = { .member = task };
	struct task_struct *found;
	unsigned int n;

	do {
		n = cryo_walk_threads(&walk, has_memory, NULL, &found, 1);
		cond_resched();
	} while (!n && walk.more && !fatal_signal_pending(current));
	cryo_walk_threads_end(&walk);
	return n ? found : get_task_struct(task);
}

/* May @task be in the scope? 0, -EPERM, or -ESRCH: it has exited, and Yama denies tracing it. */
static int may_take(struct cryo_request *req, struct task_struct *task,
		    const struct cred *on_behalf)
{
	struct task_struct *t;
	bool may, gone;

	do {
		t = any_thread(task);
		may = cryo_may_trace(t) && (!on_behalf || cryo_may_read_as(on_behalf, t));
		gone = !may && !pid_alive(t);
		put_task_struct(t);
	} while (gone && pid_alive(task) && !cryo_request_interrupted(req));
	return may ? 0 : gone ? -ESRCH : -EPERM;
}

static const char *scope_text(struct cryo_request *req)
{
	switch (req->args.scope) {
	case CRYO_SCOPE_PGRP:
		return "its process group";
	case CRYO_SCOPE_SESSION:
		return "its session";
	case CRYO_SCOPE_TREE:
		return "its tree of processes";
	case CRYO_SCOPE_CGROUP:
		return "its control group";
	}
	return "what has been asked for";
}

/* The caller learns no more of it than /proc would tell. */
static int log_not_traceable(struct cryo_request *req, struct task_struct *task,
			     const struct cred *on_behalf)
{
	char comm[TASK_COMM_LEN];

	if (!cryo_may_see(task)) {
		cryo_log(&req->log, "pid %d (%s): there is a process in %s that %s may not trace",
			 req->pid, req->comm, scope_text(req),
			 on_behalf ? "you, or a process that takes part," : "you");
		return -EPERM;
	}
	get_task_comm(comm, task);
	cryo_log(&req->log, "pid %d (%s): %s may not trace it", task_tgid_vnr(task), comm,
		 on_behalf ? "you, or the process that wants it in the checkpoint," : "you");
	return -EPERM;
}

static int check_again(struct cryo_request *req, struct cryo_proc *p)
{
	struct task_struct *task;
	int err = 0;

	/* exec() by another thread has made that the leader. */
	rcu_read_lock();
	task = pid_task(p->tgid, PIDTYPE_TGID);
	if (task)
		get_task_struct(task);
	rcu_read_unlock();
	if (!task)
		return 0;
	/* Who has gone is nobody's. */
	if (may_take(req, task, p->on_behalf) == -EPERM)
		err = log_not_traceable(req, task, p->on_behalf);
	put_task_struct(task);
	return err;
}

int cryo_scope_check(struct cryo_request *req)
{
	struct cryo_proc *p;
	int err = 0;

	cryo_for_each_proc(p, req) {
		if (!p->omitted && !p->gone)
			err = check_again(req, p);
		err = err ?: cryo_request_interrupted(req);
		if (err)
			break;
		cond_resched();
	}
	return err;
}

static bool is_claimed(struct task_struct *task)
{
	struct cryo_proc *p;

	lockdep_assert_held(&claims_lock);
	hash_for_each_possible(claims, p, claim, (unsigned long)task->signal)
		if (same_thread_group(p->leader, task))
			return true;
	return false;
}

static int claim_proc(struct cryo_request *req, struct cryo_proc *p)
{
	int err = 0;

	spin_lock(&claims_lock);
	if (is_claimed(p->leader))
		err = -EBUSY;
	else
		hash_add(claims, &p->claim, (unsigned long)p->leader->signal);
	spin_unlock(&claims_lock);
	if (err) {
		cryo_log(&req->log, "pid %d (%s): another checkpoint of it is running", p->pid,
			 p->comm);
		return err;
	}
	list_add_tail(&p->node, &req->procs);
	hash_add(req->index->by_group, &p->hash, (unsigned long)p->leader->signal);
	req->nr_procs++;
	return 0;
}

static void proc_free(struct cryo_proc *p)
{
	put_task_struct(p->leader);
	put_pid(p->tgid);
	cryo_exclusions_free(p->excluded);
	kfree(p);
}

/* The parent of @p, if it is in the request, which only the caller changes. */
static struct cryo_proc *taken_parent(struct cryo_request *req, const struct cryo_proc *p)
{
	struct cryo_proc *parent = NULL;
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(p->tgid, PIDTYPE_TGID);
	if (task)
		parent = cryo_find_proc(req, rcu_dereference(task->real_parent));
	rcu_read_unlock();
	return parent;
}

/* @on_behalf: of a participant; NULL: of nobody but the requester. */
static int add_process(struct cryo_request *req, struct task_struct *task,
		       const struct cred *on_behalf)
{
	struct cryo_proc *p, *parent;
	int err = may_take(req, task, on_behalf);

	if (err)
		return err == -EPERM ? log_not_traceable(req, task, on_behalf) : err;
	p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p)
		return -ENOMEM;
	p->req = req;
	p->on_behalf = on_behalf;
	p->leader = get_task_struct(task);
	p->tgid = get_task_pid(task, PIDTYPE_TGID);
	p->pid = pid_vnr(p->tgid);
	get_task_comm(p->comm, task);
	INIT_LIST_HEAD(&p->threads);
	/* By its pid: once it has been reaped, its own pointer may lead to a freed one. */
	parent = taken_parent(req, p);
	p->tree = parent && parent->tree;
	p->tree_for = p->tree ? parent->tree_for : NULL;
	err = claim_proc(req, p);
	if (err)
		proc_free(p);
	return err;
}

/* One that has been found, which may have left the scope meanwhile, or gone. */
static int add_found(struct cryo_request *req, struct task_struct *task)
{
	const struct cred *on_behalf;
	int err = 0;
	bool in;

	rcu_read_lock();
	/* A reaped process keeps the address of its parent, which may have been freed since. */
	in = pid_alive(task) && in_scope(req, task, &on_behalf) && !is_made_outside(req, task);
	rcu_read_unlock();
	if (in)
		err = add_process(req, task, on_behalf);
	return err == -ESRCH ? 0 : err;
}

static void forget_process(struct cryo_request *req, struct cryo_proc *p)
{
	spin_lock(&claims_lock);
	hash_del(&p->claim);
	spin_unlock(&claims_lock);
	list_del(&p->node);
	hash_del(&p->hash);
	req->nr_procs--;
	proc_free(p);
}

/* With rcu_read_lock(). */
static struct pid *group_of(struct task_struct *task, u32 scope)
{
	return scope == CRYO_SCOPE_PGRP ? task_pgrp(task) : task_session(task);
}

bool cryo_scope_has_group(struct cryo_request *req, const struct cryo_forward *f)
{
	struct cryo_proc *p;
	bool has = false;

	cryo_for_each_proc(p, req) {
		rcu_read_lock();
		has = group_of(p->leader, f->scope) == f->pid;
		rcu_read_unlock();
		if (has)
			break;
		cond_resched();
	}
	return has;
}

/* @p belongs to a tree if one above it does, and so do all between the two. */
static void join_tree(struct cryo_request *req, struct cryo_proc *p)
{
	struct cryo_proc *above = p;

	while (above && !above->tree && above->looked_at != req->looks) {
		above->looked_at = req->looks;
		above->up = taken_parent(req, above);
		above = above->up;
		cond_resched();
	}
	if (!above || !above->tree)
		return;
	/* By the same way: a parent may have ended meanwhile. */
	for (; p != above; p = p->up) {
		p->tree = true;
		p->tree_for = above->tree_for;
		p->joined = req->looks;
	}
}

/* What was added for another reason and is below a later tree. None is visited more than twice. */
static void join_trees(struct cryo_request *req)
{
	struct cryo_proc *p;

	req->looks++;
	cryo_for_each_proc(p, req) {
		join_tree(req, p);
		cond_resched();
	}
}

/* Who has come to a tree since @looks belongs to none. */
static void leave_trees(struct cryo_request *req, unsigned int looks)
{
	struct cryo_proc *p;

	cryo_for_each_proc(p, req) {
		if (p->joined > looks) {
			p->tree = false;
			p->tree_for = NULL;
			p->joined = 0;
		}
		cond_resched();
	}
}

/* Take a process from which a scope begins. */
static int add_root(struct cryo_request *req, struct task_struct *task, u32 scope,
		    const struct cred *on_behalf)
{
	struct cryo_proc *p;
	int err = cryo_find_proc(req, task) ? 0 : add_process(req, task, on_behalf);

	p = err ? NULL : cryo_find_proc(req, task);
	if (p && !p->tree && scope == CRYO_SCOPE_TREE) {
		p->tree = true;
		p->tree_for = on_behalf;
		p->joined = ++req->looks;
	}
	return err;
}

int cryo_scope_add(struct cryo_request *req, struct cryo_forward *f, struct cryo_scope_mark *mark)
{
	bool skipped;
	int err;

	mark->last = req->procs.prev;
	mark->looks = req->looks;
	mark->overrun = req->overrun;
	mark->asked_at = req->asked_at;
	rcu_read_lock();
	skipped = f->pid && is_skipped(req, f->task);
	rcu_read_unlock();
	err = is_left_out(req, f->task) ? -EDEADLK :
	      skipped ? -ESRCH : add_root(req, f->task, f->scope, f->cred);
	/* A group or session is found by its others, if there are any. */
	if (err && !(f->pid && (err == -ESRCH || is_left_out(req, f->task))))
		return err;
	mark->rootless = err;
	mark->added = f;
	list_add_tail(&f->node, &req->forwarded);
	/* Who wants the same as another before him is never asked. */
	if (f->pid && !find_forward(req, f->scope, f->pid))
		hash_add(req->index->by_pid, &f->hash, (unsigned long)f->pid);
	return 0;
}

void cryo_scope_undo(struct cryo_request *req, const struct cryo_scope_mark *mark)
{
	while (req->procs.prev != mark->last) {
		forget_process(req, list_last_entry(&req->procs, struct cryo_proc, node));
		cond_resched();
	}
	leave_trees(req, mark->looks);
	list_del(&mark->added->node);
	hash_del(&mark->added->hash);
	req->overrun = mark->overrun;
	req->asked_at = mark->asked_at;
}

#define FOUND	1024	/* until it is asked whether they are still there */

/*
 * How many of those that were found since cryo_scope_limit_gone() have been waited for: of others,
 * zombies too, a user can have so many only; and so it is of those that had been there at one time.
 */
static unsigned int count_gone(struct cryo_request *req)
{
	struct cryo_proc *p = list_entry(req->known, struct cryo_proc, node);
	unsigned int gone = 0;

	list_for_each_entry_continue(p, &req->procs, node) {
		rcu_read_lock();
		gone += !pid_task(p->tgid, PIDTYPE_TGID);
		rcu_read_unlock();
		cond_resched();
	}
	return gone;
}

void cryo_scope_limit_gone(struct cryo_request *req)
{
	req->known = req->procs.prev;
	req->asked_at = req->nr_procs;
	req->overrun = false;
}

bool cryo_scope_overrun(struct cryo_request *req)
{
	req->asked_at = req->nr_procs;
	req->overrun = req->overrun || count_gone(req) > CRYO_MAX_GONE;
	return req->overrun;
}

/* The same, counted only when many are new: participants ask for each scope that they add. */
static bool is_overrun(struct cryo_request *req)
{
	if (req->overrun || req->nr_procs - req->asked_at <= FOUND + req->nr_procs / 4)
		return req->overrun;
	return cryo_scope_overrun(req);
}

#define LOOKS	3	/* processes come and go; the caller has a time limit, and calls again */

/* Looks at all numbers once. Returns how many processes were new, or a negative errno. */
static int find_once(struct cryo_request *req)
{
	struct task_struct *found[CRYO_WALK_FOUND];
	int at = 1, next, total = 0, err = 0;
	unsigned int n, i, looks = 0;

	do {
		next = at;
		n = cryo_walk_tasks(PIDTYPE_TGID, process_wanted, req, found, &next);
		for (i = 0; i < n; i++) {
			if (!err)
				err = add_found(req, found[i]);
			put_task_struct(found[i]);
		}
		total += n;
		/* Who creates them may be as fast as we are, and number them just before us. */
		if (is_overrun(req))
			break;
		/* Their children may be among the same numbers: these once more. */
		if (!n || ++looks == LOOKS) {
			at = next;
			looks = 0;
		}
		cond_resched();
		err = err ?: cryo_request_interrupted(req);
	} while (at && !err);
	return err ?: total;
}

/* Adds what is in the scope now. Returns how many were new, 1 if not all were seen, or -errno. */
int cryo_scope_find(struct cryo_request *req)
{
	unsigned int looks;
	int n, total = 0;

	if (req->args.scope == CRYO_SCOPE_PROCESS && list_empty(&req->forwarded))
		return 0;
	/* A child may have a lower number than its parent. */
	for (looks = 0; looks < LOOKS; looks++) {
		if (is_overrun(req))
			return total ?: 1;
		if (!list_empty(&req->forwarded))
			join_trees(req);
		n = find_once(req);
		if (n <= 0)
			return n ?: total;
		total += n;
	}
	return total;
}

/* Take the target, or say why it is left out. */
static int take_target(struct cryo_request *req)
{
	bool skipped;

	if (is_left_out(req, req->target))
		return -EDEADLK;
	rcu_read_lock();
	skipped = is_skipped(req, req->target);
	rcu_read_unlock();
	return skipped ? -ENOENT : add_root(req, req->target, req->args.scope, NULL);
}

/* A group or session is where its members are, not only the one from which it was known. */
static int take_others(struct cryo_request *req, int why)
{
	int n;

	if (req->args.scope != CRYO_SCOPE_PGRP && req->args.scope != CRYO_SCOPE_SESSION)
		return why;
	n = cryo_scope_find(req);
	if (n < 0)
		return n;
	return list_empty(&req->procs) ? why : 0;
}

static int log_excluded(struct cryo_request *req, int why)
{
	if (why == -EDEADLK)
		cryo_log(&req->log, "pid %d (%s): is the calling process: its own checkpoint requires --self (CRYO_CKPT_SELF)",
			 req->pid, req->comm);
	if (why == -ENOENT)
		cryo_log(&req->log, "pid %d (%s): is traced (ptrace) and skipped, and no other process is in scope",
			 req->pid, req->comm);
	return why == -ENOENT ? -ESRCH : why;
}

/* Take the target. cryo_scope_end() when this has succeeded, and only then. */
int cryo_scope_begin(struct cryo_request *req)
{
	int err;

	req->index = kvzalloc(sizeof(*req->index), GFP_KERNEL_ACCOUNT);
	if (!req->index)
		return -ENOMEM;
	hash_init(req->index->by_group);
	hash_init(req->index->by_task);
	hash_init(req->index->by_pid);
	cryo_scope_limit_gone(req);
	err = take_target(req);
	if (err == -EDEADLK || err == -ENOENT || err == -ESRCH)
		err = take_others(req, err);
	if (err)
		cryo_scope_end(req);
	return log_excluded(req, err);
}

/* With rcu_read_lock(): will somebody in the context wait for @task, which has exited? */
static bool is_child_in_context(struct cryo_request *req, struct task_struct *task)
{
	struct cryo_proc *parent = cryo_find_proc(req, rcu_dereference(task->real_parent));

	return parent && !parent->omitted;
}

enum freeze_state { FROZEN, NOT_FROZEN, GONE };

/*
 * It is on its way out, and still has to tell those that wait for it (pthread_join()) by a word in
 * memory; or it is the leader, which is going to stay as a zombie.
 */
static bool is_exiting(void *arg, struct task_struct *t)
{
	if (!(t->flags & PF_EXITING) || READ_ONCE(t->exit_state))
		return false;
	return READ_ONCE(t->mm) || thread_group_leader(t);
}

/* Said of a process, too, that there was no time to look at. */
static bool has_exiting_thread(struct cryo_request *req, struct cryo_proc *p)
{
	struct cryo_thread_walk walk = { .member = p->leader };
	struct task_struct *found;
	unsigned int n;
	bool more;

	do {
		n = cryo_walk_threads(&walk, is_exiting, NULL, &found, 1);
		more = walk.more;
		cond_resched();
	} while (!n && more && !cryo_request_interrupted(req));
	cryo_walk_threads_end(&walk);
	if (n)
		put_task_struct(found);
	return n || more;
}

/* What has become of a process. */
static enum freeze_state look_at_proc(struct cryo_request *req, struct cryo_proc *p)
{
	struct task_struct *task;
	enum freeze_state rest = GONE;

	/* Has not been asked yet: it is looked at when it has. */
	if (p->answers && !req->all_asked)
		return FROZEN;
	if (cryo_next_thread(p, NULL)) {
		/* One of its threads has ended all of them. */
		if (READ_ONCE(p->leader->signal->flags) & SIGNAL_GROUP_EXIT)
			return NOT_FROZEN;
		return has_exiting_thread(req, p) ? NOT_FROZEN : FROZEN;
	}
	rcu_read_lock();
	task = pid_task(p->tgid, PIDTYPE_TGID);
	if (task && task->exit_state != EXIT_DEAD) {
		rest = NOT_FROZEN;
		if (task->exit_state && thread_group_empty(task)) {
			p->zombie = is_child_in_context(req, task);
			rest = p->zombie ? FROZEN : GONE;
		}
	}
	rcu_read_unlock();
	return rest;
}

static void log_unfrozen(struct cryo_request *req, struct cryo_proc *p)
{
	const char *why = "is exiting";

	if (READ_ONCE(p->leader->vfork_done))
		why = "shares its parent's memory until it executes a program (vfork, posix_spawn)";
	else if (READ_ONCE(p->leader->signal->core_state))
		why = "is writing its core file";
	cryo_log(&req->log, "pid %d (%s): cannot be frozen: %s", p->pid, p->comm, why);
}

int cryo_scope_settle(struct cryo_request *req, bool report)
{
	struct cryo_proc *p;
	int restless = 0;

	cryo_for_each_proc(p, req) {
		enum freeze_state rest;

		if (p->omitted)
			continue;
		rest = look_at_proc(req, p);

		if (rest == NOT_FROZEN) {
			restless++;
			if (report)
				log_unfrozen(req, p);
		}
		/* Not forgotten: threads of it may still be in the list of those asked. */
		p->gone = rest == GONE;
		cond_resched();
	}
	return restless;
}

/* No process of the scope is claimed any more. After cryo_thaw(). */
void cryo_scope_end(struct cryo_request *req)
{
	struct cryo_forward *f, *next_forward;
	struct cryo_proc *p, *next;

	list_for_each_entry_safe(p, next, &req->procs, node) {
		forget_process(req, p);
		cond_resched();
	}
	/* After the processes, which have credentials of these. */
	list_for_each_entry_safe(f, next_forward, &req->forwarded, node) {
		list_del(&f->node);
		hash_del(&f->hash);
		cryo_forward_put(f);
	}
	put_pid(req->scope_pid);
	req->scope_pid = NULL;
	kvfree(req->index);
	req->index = NULL;
}
