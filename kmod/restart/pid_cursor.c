// SPDX-License-Identifier: GPL-2.0-only
/*
 * pid_cursor.c - restart with the saved pids, as an ordinary user
 *
 * clone3(2) with set_tid and /proc/sys/kernel/ns_last_pid both ask for
 * CAP_CHECKPOINT_RESTORE.  This moves the same cursor as ns_last_pid: a hint, it
 * never gives anybody a pid that is in use.  See exceptions.c.
 */
#include <linux/idr.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/threads.h>
#include <linux/uaccess.h>

#include <cryo/ioctl.h>

#include "access/exceptions.h"
#include "lib/args.h"
#include "lib/turn.h"
#include "restart/calls.h"

/*
 * The first process of a namespace is 1, or the kernel takes none for the one that orphans go to,
 * and crashes. The file in /proc is of namespaces that one is in; this is of one that may have
 * nobody yet. Once it has had somebody it may be any.
 */
static bool may_be_next(const struct pid_namespace *ns, pid_t pid)
{
	return pid == 1 || READ_ONCE(ns->child_reaper);
}

/*
 * Two restarts at once would take each other's number for the one to be put back, and leave the
 * cursor there: all new processes of the machine would then get the numbers that the jobs still
 * want. So what was there before the first of them is known: of the machine's own namespace always,
 * of others as long as there is room. A record may be of a namespace that is gone, whose place and
 * number another one has.
 */
#define NEAR_PIDS	64		/* forked since */
#define STRAY_JIFFIES	(60 * HZ)	/* nobody has put it back: one who was killed */

static struct cryo_cursor {
	const struct pid_namespace *ns;	/* NULL: unused */
	unsigned int inum;
	pid_t before, set;		/* the same: it is where it was, and wanted there */
	unsigned long when;
} cursors[32];				/* the first one: of init_pid_ns */
static DEFINE_SPINLOCK(cursors_lock);

static bool is_stray(const struct cryo_cursor *c)
{
	return !c->ns || time_after_eq(jiffies, c->when + STRAY_JIFFIES);
}

static struct cryo_cursor *find_cursor(const struct pid_namespace *ns)
{
	unsigned int i;

	lockdep_assert_held(&cursors_lock);
	for (i = 0; i < ARRAY_SIZE(cursors); i++)
		if (cursors[i].ns == ns && cursors[i].inum == ns->ns.inum && !is_stray(&cursors[i]))
			return &cursors[i];
	return NULL;
}

static struct cryo_cursor *place_for(const struct pid_namespace *ns)
{
	struct cryo_cursor *oldest = &cursors[1];
	unsigned int i;

	lockdep_assert_held(&cursors_lock);
	if (ns == &init_pid_ns)
		return &cursors[0];
	for (i = 1; i < ARRAY_SIZE(cursors); i++) {
		if (is_stray(&cursors[i]))
			return &cursors[i];
		if (time_before(cursors[i].when, oldest->when))
			oldest = &cursors[i];
	}
	return oldest;
}

/* Is the cursor where a restart has moved it, or has it gone on from there by forks of others? */
static bool is_moved_by_us(const struct cryo_cursor *c, pid_t now)
{
	return c->set != c->before && now >= c->set && now < max(c->before, c->set + NEAR_PIDS);
}

/* Has somebody forked since it was set? */
static bool is_cursor_used(const void *what)
{
	const struct pid_namespace *ns = what;
	const struct cryo_cursor *c;
	bool used;

	spin_lock(&cursors_lock);
	c = find_cursor(ns);
	used = !c || idr_get_cursor(&ns->idr) != c->set;
	spin_unlock(&cursors_lock);
	return used;
}

/*
 * The kernel itself reads and sets the cursor with single loads and stores. @pid 0 puts it back:
 * only from where a restart has set it, as a job that runs has forked on from where it was, and
 * would be given the ids of its children again.
 */
static int set_cursor(struct pid_namespace *ns, pid_t pid, pid_t *before)
{
	pid_t now = idr_get_cursor(&ns->idr), next;
	struct cryo_cursor *c = find_cursor(ns);

	lockdep_assert_held(&cursors_lock);
	*before = c && is_moved_by_us(c, now) ? c->before : now;
	next = pid ?: *before;
	if (next != now && !may_be_next(ns, next))
		return -EINVAL;
	/*
	 * Also of one that is there by itself: by that it is known whether the number has been
	 * used.
	 */
	if (pid) {
		c = c ?: place_for(ns);
		*c = (struct cryo_cursor){ .ns = ns, .inum = ns->ns.inum, .before = *before,
					   .set = pid, .when = jiffies };
	} else if (c) {
		*c = (struct cryo_cursor){};
	}
	if (next != now)
		idr_set_cursor(&ns->idr, next);
	return 0;
}

/* @pid 0 puts it back. */
static int move_cursor(struct pid_namespace *ns, pid_t pid, pid_t *before)
{
	int err;

	*before = 0;
	if (pid) {
		err = cryo_turn_begin(ns, is_cursor_used);
		if (err)
			return err;
	} else if (!cryo_turn_end(ns, is_cursor_used)) {
		/* It is not where the caller has set it. */
		return 0;
	}
	spin_lock(&cursors_lock);
	err = set_cursor(ns, pid, before);
	spin_unlock(&cursors_lock);
	if (err)
		cryo_turn_end(ns, is_cursor_used);
	else if (pid)
		cryo_turn_set(ns);
	return err;
}

long cryo_pid_cursor(void __user *arg)
{
	struct pid_namespace *ns = current->nsproxy->pid_ns_for_children;
	struct cryo_pid_cursor args;
	int err;

	if (!cryo_exception(CRYO_EXCEPTION_PID_CHOICE, ns->user_ns))
		return -EPERM;
	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_pid_cursor, previous),
			     arg);
	if (err)
		return err;
	if (args.reserved)
		return -EINVAL;
	if (args.pid < 0 || args.pid >= PID_MAX_LIMIT)
		return -ERANGE;
	err = move_cursor(ns, args.pid, &args.previous);
	if (err)
		return err;
	return put_user(args.previous,
			&((struct cryo_pid_cursor __user *)arg)->previous) ? -EFAULT : 0;
}

/* The namespace @up levels above that of the caller's children, if it is @outermost or below. */
static struct pid_namespace *nested_ns(const struct pid *outermost, u32 up)
{
	struct pid_namespace *top = ns_of_pid((struct pid *)outermost), *ns, *at;

	for (ns = current->nsproxy->pid_ns_for_children; ns && up; up--)
		ns = ns->parent;
	for (at = ns; at && at != top; at = at->parent)
		;
	return at ? ns : NULL;
}

/* CRYO_RST_PID_CURSOR */
long cryo_restart_pid_cursor(struct pid *coordinator, void __user *arg)
{
	struct cryo_nested_cursor args;
	struct pid_namespace *ns;
	pid_t before;
	int err;

	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_nested_cursor, reserved),
			     arg);
	if (err)
		return err;
	if (args.reserved)
		return -EINVAL;
	if (args.pid < 0 || args.pid >= PID_MAX_LIMIT)
		return -ERANGE;
	ns = nested_ns(coordinator, args.up);
	if (!ns || !cryo_exception(CRYO_EXCEPTION_PID_CHOICE, ns->user_ns))
		return -EPERM;
	return move_cursor(ns, args.pid, &before);
}

/* CRYO_RST_OUTER_PID */
long cryo_restart_outer_pid(struct pid *coordinator, void __user *arg)
{
	struct cryo_outer_pid args;
	struct task_struct *task;
	int err;

	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_outer_pid, reserved),
			     arg);
	if (err)
		return err;
	if (args.outer || args.reserved)
		return -EINVAL;
	rcu_read_lock();
	task = pid_task(find_vpid(args.pid), PIDTYPE_PID);
	if (task)
		get_task_struct(task);
	rcu_read_unlock();
	if (!task)
		return -ESRCH;
	/* Of strangers, nobody is told what they are called outside of his own pid namespace. */
	if (cryo_is_descendant(coordinator, task))
		args.outer = task_pid_nr_ns(task, ns_of_pid(coordinator));
	put_task_struct(task);
	if (!args.outer)
		return -ESRCH;
	return put_user(args.outer, &((struct cryo_outer_pid __user *)arg)->outer) ? -EFAULT : 0;
}
