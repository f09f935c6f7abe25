// SPDX-License-Identifier: GPL-2.0-only
/*
 * save_fs.c - working directories
 *
 * Threads have one in common, with the umask, unless they were made, or have unshared
 * (unshare(CLONE_FS)), otherwise; then several of them may still share another one.
 */
#include <linux/fs_struct.h>
#include <linux/path.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/stat.h>

#include "cryo.h"
#include "find.h"
#include "mounts.h"

/* Path of @path as the requester sees it, into @buf, which has room for PATH_MAX bytes; or an ERR_PTR. */
static char *path_name(struct cryo_capture *c, const struct path *path, char *buf, u32 *flags)
{
	bool deleted;
	char *name = d_unlinked(path->dentry) ? ERR_PTR(-ENOENT) :
						cryo_find_name(c, path, buf, &deleted);

	if (name != ERR_PTR(-ENOENT))
		return name;
	name = cryo_path_name(path, buf, PATH_MAX, &deleted);

	if (deleted)
		*flags |= CRYO_PATH_DELETED;
	return name;
}

/* Add struct cryo_path to @buf, and the path to @tail. */
static int describe_dir(struct cryo_capture *c, const struct path *pwd, struct cryo_path *head,
			struct cryo_buf *tail)
{
	char *page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	struct kstat stat;
	char *name;
	int err;

	if (!page)
		return -ENOMEM;
	name = path_name(c, pwd, page, &head->flags);
	err = PTR_ERR_OR_ZERO(name);
	if (!err)
		err = vfs_getattr(pwd, &stat, STATX_BASIC_STATS, AT_STATX_DONT_SYNC);
	if (!err) {
		head->dev = new_encode_dev(stat.dev);
		head->ino = stat.ino;
		head->mode = stat.mode & 07777;
		cryo_buf_put(tail, name, strlen(name));
		err = tail->error;
	}
	kfree(page);
	return err;
}

/* The working directory of @task, with a reference, and its umask. */
static int get_pwd(struct task_struct *task, struct path *pwd, u32 *umask)
{
	int err = -ESRCH;

	task_lock(task);
	if (task->fs) {
		get_fs_pwd(task->fs, pwd);
		*umask = task->fs->umask;
		err = 0;
	}
	task_unlock(task);
	return err;
}

/* @head is the beginning of the structure of @size bytes that is saved. */
static int save_dir(struct cryo_capture *c, u16 type, u32 object, const struct path *pwd,
		    struct cryo_path *head, size_t size)
{
	struct cryo_buf tail = {}, buf = {};
	int err = describe_dir(c, pwd, head, &tail);

	if (!err) {
		cryo_buf_put(&buf, head, size);
		cryo_buf_put(&buf, tail.data, tail.len);
		err = cryo_stream_buf(&c->stream, type, object, size, &buf);
	}
	cryo_buf_free(&tail);
	return err;
}

int cryo_save_cwd(struct cryo_capture *c)
{
	struct cryo_path head = {};
	struct path pwd;
	u32 umask;
	int err = get_pwd(c->p->task, &pwd, &umask);

	if (err)
		return err;
	err = save_dir(c, CRYO_SEC_CWD, c->p->pid, &pwd, &head, sizeof(head));
	path_put(&pwd);
	return err;
}

static bool has_own(struct cryo_capture *c, struct task_struct *task)
{
	return READ_ONCE(task->fs) != READ_ONCE(c->p->task->fs);
}

/* The first thread with the same one as @task. */
static struct task_struct *first_with(struct cryo_capture *c, struct task_struct *task)
{
	struct cryo_parked *t;

	for (t = cryo_next_thread(c->p, NULL); t; t = cryo_next_thread(c->p, t))
		if (READ_ONCE(t->task->fs) == READ_ONCE(task->fs))
			break;
	return t ? t->task : task;
}

int cryo_save_thread_fs(struct cryo_capture *c, struct task_struct *task)
{
	struct cryo_thread_fs out = {};
	struct path pwd;
	int err;

	if (!has_own(c, task))
		return 0;
	err = get_pwd(task, &pwd, &out.umask);
	if (err)
		return err;
	out.same_as = task_pid_vnr(first_with(c, task));
	err = save_dir(c, CRYO_SEC_THREAD_FS, task_pid_vnr(task), &pwd, &out.cwd, sizeof(out));
	path_put(&pwd);
	return err;
}

/* Than the requester's, or than that of the job's own mount namespace. */
static bool other_root(struct cryo_capture *c, struct task_struct *task)
{
	struct cryo_mounts *mounts = cryo_mounts_of(c, task);
	struct path mine, its = {};
	bool other;

	if (mounts && mounts->root.dentry) {
		mine = mounts->root;
		path_get(&mine);
	} else {
		get_fs_root(current->fs, &mine);
	}
	task_lock(task);
	if (task->fs)
		get_fs_root(task->fs, &its);
	task_unlock(task);
	other = its.dentry && !path_equal(&mine, &its);
	path_put(&its);
	path_put(&mine);
	return other;
}

/* More users than threads of this process. */
static bool shared_outside(struct cryo_capture *c, struct task_struct *task)
{
	struct cryo_parked *t;
	int users = 0;

	for (t = cryo_next_thread(c->p, NULL); t; t = cryo_next_thread(c->p, t))
		users += READ_ONCE(t->task->fs) == READ_ONCE(task->fs);
	task_lock(task);
	users = task->fs ? task->fs->users - users : 0;
	task_unlock(task);
	return users > 0;
}

/* Does a path lead there, or did one before it was removed? */
static bool has_path(struct cryo_capture *c, const struct path *path)
{
	char *page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	bool is_other, has = d_unlinked(path->dentry);

	if (page && !has)
		has = cryo_find_name(c, path, page, &is_other) != ERR_PTR(-ENOENT);
	kfree(page);
	return has;
}

/* If the process is in a mount namespace of the job's own, it has to be there, too, and still to have its path. */
static void check_pwd(struct cryo_capture *c, struct task_struct *task)
{
	struct cryo_mounts *mounts = cryo_mounts_of(c, task);
	struct path pwd;
	u32 umask;

	if (get_pwd(task, &pwd, &umask))
		return;
	if (!mounts && !has_path(c, &pwd))
		cryo_refuse(c, "thread %d: a working directory that no path leads to (under another mount, or unmounted) is not supported",
			    task_pid_vnr(task));
	else if (mounts && (cryo_in_mounts(c, pwd.mnt) != mounts || d_unlinked(pwd.dentry) ||
			    !has_path(c, &pwd)))
		cryo_refuse(c, "thread %d: a working directory without a path in its mount namespace is not supported",
			    task_pid_vnr(task));
	path_put(&pwd);
}

void cryo_check_fs(struct cryo_capture *c, struct task_struct *task)
{
	int tid = task_pid_vnr(task);

	check_pwd(c, task);
	if (task == c->p->task) {
		if (other_root(c, task))
			cryo_refuse(c, "a root directory other than the requester's (chroot) is not supported");
		return;
	}
	if (!has_own(c, task))
		return;
	if (other_root(c, task))
		cryo_refuse(c, "thread %d: a root directory other than the requester's (chroot) is not supported",
			    tid);
	if (first_with(c, task) == task && shared_outside(c, task))
		cryo_refuse(c, "thread %d: a working directory shared with another process (CLONE_FS) is not supported",
			    tid);
}
