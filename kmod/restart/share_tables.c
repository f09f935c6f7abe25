// SPDX-License-Identifier: GPL-2.0-only
/*
 * share_tables.c - which member of a restart gets the descriptor table or the working directory of
 * which other process
 *
 * With the group's lock held, when all have parked and before any goes on. Nothing here takes
 * longer for each member the more of them there are.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/xarray.h>

#include <cryo/ioctl.h>

#include "access/access.h"
#include "lib/optional.h"
#include "lib/walk_tasks.h"
#include "restart/restart.h"

/* Values are members. */
struct table_owners {
	struct xarray files;		/* by what their tables are called */
	struct xarray fs;
	/* one of each, by its number; its @in_process is the count */
	struct xarray processes;
};

static void init_owners(struct table_owners *o)
{
	xa_init_flags(&o->files, XA_FLAGS_ACCOUNT);
	xa_init_flags(&o->fs, XA_FLAGS_ACCOUNT);
	xa_init_flags(&o->processes, XA_FLAGS_ACCOUNT);
}

static void free_owners(struct table_owners *o)
{
	xa_destroy(&o->files);
	xa_destroy(&o->fs);
	xa_destroy(&o->processes);
}

/* The first one of several is it. */
static int add_first(struct xarray *of, s32 key, struct cryo_rst_member *m)
{
	int err = xa_insert(of, (u32)key, m, GFP_KERNEL_ACCOUNT);

	return err == -EBUSY ? 0 : err;
}

static int add_member(struct table_owners *o, struct cryo_rst_member *m)
{
	u32 flags = m->args.flags & CRYO_RESUME_LEADER ? m->args.flags : 0;
	struct cryo_rst_member *first;
	int err;

	m->in_process = 0;
	err = add_first(&o->processes, task_tgid_nr(m->task), m);
	if (!err && (flags & CRYO_RESUME_OWNS_FILES))
		err = add_first(&o->files, m->args.files_of, m);
	if (!err && (flags & CRYO_RESUME_OWNS_FS))
		err = add_first(&o->fs, m->args.fs_of, m);
	if (err)
		return err;
	first = xa_load(&o->processes, task_tgid_nr(m->task));
	first->in_process++;
	return 0;
}

static bool is_staying(void *arg, struct task_struct *thread)
{
	return !READ_ONCE(thread->exit_state) && !(READ_ONCE(thread->flags) & PF_EXITING);
}

/*
 * Is nobody in the process of @owner but members? Another thread may be about to execute a
 * set-user-id program with what would be shared. One that ends is not; and who is not there when it
 * is looked at has been made by one that is. Members have all parked: once that is so, it stays so.
 */
static bool is_all_members(struct table_owners *o, struct cryo_rst_member *owner)
{
	struct cryo_rst_member *first = xa_load(&o->processes, task_tgid_nr(owner->task));
	struct cryo_thread_walk walk = { .member = owner->task };
	struct task_struct *found[CRYO_WALK_FOUND];
	unsigned int n, i, threads = 0;
	bool whole;

	if (owner->all_members)
		return true;
	do {
		n = cryo_walk_threads(&walk, is_staying, NULL, found, ARRAY_SIZE(found));
		for (i = 0; i < n; i++)
			put_task_struct(found[i]);
		threads = walk.anew ? n : threads + n;
		cond_resched();
	} while (walk.more && threads <= first->in_process && !fatal_signal_pending(current));
	whole = !walk.more;
	cryo_walk_threads_end(&walk);
	owner->all_members = whole && threads <= first->in_process;
	return owner->all_members;
}

/*
 * NULL if @m may have tables of @owner's process: as if one of them had been made by the other, by
 * clone(2).
 */
static const char *why_not_shared(struct cryo_rst_group *g, struct table_owners *o,
				  struct cryo_rst_member *owner, struct cryo_rst_member *m,
				  bool fs)
{
	/* Whatever rights there are: no call makes these. */
	if (fs && owner->creds->user_ns != m->creds->user_ns)
		return "is in another user namespace";
	if (fs && !cryo_tables_same_mounts(owner->task, m->task))
		return "is in another mount namespace";
	if (!cryo_same_creds(owner->task, m->task) &&
	    !(cryo_maker_capable(g->creds, owner->creds->user_ns, CAP_SETUID) &&
	      cryo_maker_capable(g->creds, m->creds->user_ns, CAP_SETUID)))
		return "has other credentials";
	if (!is_all_members(o, owner))
		return "has threads that are not restarted";
	return NULL;
}

/* What its own process has, it has already; @id 0: it shares none. */
static int get_table(struct cryo_rst_group *g, struct table_owners *o, struct cryo_rst_member *m,
		     u32 flag, s32 id)
{
	bool fs = flag == CRYO_RESUME_OWNS_FS;
	struct cryo_rst_member *owner = id ? xa_load(fs ? &o->fs : &o->files, (u32)id) : m;
	const char *why;
	int err;

	if (!owner) {
		cryo_log(&g->log, "thread %d: no process has the tables %d that it is to share",
			 task_pid_vnr(m->task), id);
		return -EINVAL;
	}
	if (same_thread_group(owner->task, m->task))
		return 0;
	/*
	 * Before it is asked whether that may be: whoever executes a program from here on finds one
	 * user more.
	 */
	err = cryo_tables_get(&m->tables, owner->task, !fs, fs);
	if (err) {
		cryo_log(&g->log, "thread %d: cannot share the tables of pid %d%s: %pe",
			 task_pid_vnr(m->task), task_tgid_vnr(owner->task),
			 err == -EAGAIN ? ", which executes a program" : "", ERR_PTR(err));
		return err;
	}
	why = why_not_shared(g, o, owner, m, fs);
	if (why) {
		cryo_log(&g->log, "thread %d: pid %d, whose tables it is to share, %s",
			 task_pid_vnr(m->task), task_tgid_vnr(owner->task), why);
		return -EPERM;
	}
	return 0;
}

static bool is_any_shared(struct cryo_rst_group *g)
{
	struct cryo_rst_member *m;

	list_for_each_entry(m, &g->members, node)
		if (m->args.files_of || m->args.fs_of)
			return true;
	return false;
}

static int find_owners(struct cryo_rst_group *g, struct table_owners *o)
{
	struct cryo_rst_member *m;
	int err;

	list_for_each_entry(m, &g->members, node) {
		err = add_member(o, m);
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		if (err)
			return err;
		cond_resched();
	}
	return 0;
}

static int get_all_tables(struct cryo_rst_group *g, struct table_owners *o)
{
	struct cryo_rst_member *m;
	int err;

	list_for_each_entry(m, &g->members, node) {
		err = get_table(g, o, m, CRYO_RESUME_OWNS_FILES, m->args.files_of) ?:
		      get_table(g, o, m, CRYO_RESUME_OWNS_FS, m->args.fs_of);
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		if (err)
			return err;
		cond_resched();
	}
	return 0;
}

/* When all processes have done their last with their own ones, and none goes on yet. */
int cryo_rst_get_tables(struct cryo_rst_group *g)
{
	struct table_owners owners;
	int err;

	lockdep_assert_held(&g->lock);
	if (!is_any_shared(g))
		return 0;
	init_owners(&owners);
	err = find_owners(g, &owners);
	if (!err)
		err = get_all_tables(g, &owners);
	free_owners(&owners);
	return err;
}
