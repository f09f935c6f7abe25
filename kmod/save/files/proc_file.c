// SPDX-License-Identifier: GPL-2.0-only
/*
 * proc_file.c - files of /proc about processes and threads
 *
 * They are opened again by their names, when who they tell of is there: a process can do that by
 * itself.
 */
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "capture/capture.h"
#include "compat/sched.h"
#include "paths/mounts.h"
#include "request/request.h"
#include "save/files.h"

/*
 * What is still told of a process that has exited and was not waited for, by @name behind its
 * directory.
 */
static bool is_told_of_zombie(const char *name)
{
	static const char *const told[] = { "", "stat", "statm", "status", "comm" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(told); i++)
		if (!strcmp(name, told[i]))
			return true;
	return false;
}

/*
 * Is the process @number of the pid namespace of @sb not there any more, or not so that @name tells
 * what it did?
 */
static bool has_ended(struct super_block *sb, int number, const char *name)
{
	struct task_struct *task;
	bool ended;

	rcu_read_lock();
	task = pid_task(find_pid_ns(number, proc_pid_ns(sb)), PIDTYPE_PID);
	ended = !task || (task->exit_state && thread_group_empty(task) && !is_told_of_zombie(name));
	rcu_read_unlock();
	return ended;
}

/* Each thread has a directory of its own: a later one with the same number gets another one. */
static bool has_lost_name(struct dentry *dentry)
{
	for (; !IS_ROOT(dentry); dentry = dentry->d_parent)
		if (d_unhashed(dentry))
			return true;
	return false;
}

/* Of a thread other than the first: it comes back only if it is in the context. */
static const char *thread_obstacle(struct cryo_capture *c, struct cryo_object *o,
				   const struct path *path, struct task_struct *task)
{
	struct pid_namespace *ns = proc_pid_ns(path->dentry->d_sb);
	struct cryo_proc *p;

	if (!task || task->exit_state || has_lost_name(path->dentry))
		return "file of /proc about a thread that has ended";
	/* By such a name nobody sees which thread it is of. */
	if (path->mnt->mnt_root != path->dentry->d_sb->s_root)
		return "file of /proc about a thread, by a bind mount of its directory";
	p = cryo_find_proc(c->req, task);
	if (!p || p->gone || task->flags & CRYO_PF_WORKER)
		return "file of /proc about a thread outside the checkpoint";
	/* Of a thread, unlike a process, only the number in its own namespace comes back. */
	if (ns != task_active_pid_ns(task) ||
	    (ns != task_active_pid_ns(current) && !cryo_in_mounts(c, path->mnt)))
		return "file of a /proc of another pid namespace about a thread";
	o->of_thread = true;
	return NULL;
}

static const char *number_obstacle(struct cryo_capture *c, struct cryo_object *o,
				   const struct path *path, int number, bool in_task)
{
	struct pid_namespace *ns = proc_pid_ns(path->dentry->d_sb);
	const char *obstacle = NULL;
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(find_pid_ns(number, ns), PIDTYPE_PID);
	/* That of a thread is in /proc by its own number, too. */
	if (in_task || (task && !thread_group_leader(task)))
		obstacle = thread_obstacle(c, o, path, task);
	rcu_read_unlock();
	return obstacle;
}

/*
 * Why a file cannot be opened again when its process or thread is there; NULL: nothing, or it is no
 * such file. Messages are put back before there are any processes.
 */
const char *cryo_proc_file_obstacle(struct cryo_capture *c, struct cryo_object *o)
{
	const struct path *path = cryo_user_path(o->file);
	char text[256], *name;
	int pid, tid, n, end = 0;
	const char *obstacle;

	if (path->dentry->d_sb->s_magic != PROC_SUPER_MAGIC)
		return NULL;
	name = dentry_path_raw(path->dentry, text, sizeof(text));
	if (IS_ERR(name))
		return NULL;
	n = sscanf(name, "/%d/task/%d", &pid, &tid);
	if (n < 1)
		return NULL;
	obstacle = number_obstacle(c, o, path, n == 2 ? tid : pid, n == 2 && pid != tid);
	if (obstacle)
		return obstacle;
	if (sscanf(name, "/%d%n", &pid, &end) == 1 &&
	    has_ended(path->dentry->d_sb, pid, name + end + (name[end] == '/')))
		return "file of /proc about a process that has ended";
	return o->carrier >= 0 ?
	       "file of /proc about a process that is under way in a message" : NULL;
}
