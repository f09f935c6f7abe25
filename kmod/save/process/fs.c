// SPDX-License-Identifier: GPL-2.0-only
/*
 * fs.c - working and root directories
 *
 * Threads have them in common, with the umask, unless they were made, or have unshared
 * (unshare(CLONE_FS)), otherwise; then several of them may still share other ones.
 *
 * All paths of a context are those of the requester, or of the job's mount namespace that they are
 * in. So a root directory (chroot(2)) is one more directory with a path: nothing else is said in
 * another way for it.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs_struct.h>
#include <linux/path.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/stat.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "lib/buf.h"
#include "paths/find.h"
#include "paths/mounts.h"
#include "resources.h"
#include "save/files.h"
#include "save/process.h"

/*
 * Path of @path as the requester sees it, into @buf, which has room for PATH_MAX bytes; or an
 * ERR_PTR.
 */
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

/* The directories of @task, with references, and its umask. */
struct fs_view {
	struct path pwd, root;
	u32 umask;
};

static int get_view(struct task_struct *task, struct fs_view *view)
{
	int err = -ESRCH;

	task_lock(task);
	if (task->fs) {
		get_fs_pwd(task->fs, &view->pwd);
		get_fs_root(task->fs, &view->root);
		view->umask = task->fs->umask;
		err = 0;
	}
	task_unlock(task);
	return err;
}

static void put_view(const struct fs_view *view)
{
	path_put(&view->root);
	path_put(&view->pwd);
}

/*
 * That which a process has where no chroot(2) says otherwise: the requester's, or that of the job's
 * mount namespace.
 */
static bool is_usual_root(const struct cryo_mounts *mounts, const struct path *root)
{
	struct path usual;
	bool same;

	if (mounts && mounts->root.dentry)
		return path_equal(&mounts->root, root);
	get_fs_root(current->fs, &usual);
	same = path_equal(&usual, root);
	path_put(&usual);
	return same;
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

/* Nothing: the usual one. */
static int save_root(struct cryo_capture *c, struct task_struct *task, u32 object,
		     const struct path *root)
{
	struct cryo_buf buf = {};
	struct cryo_inode out = {};
	bool is_other;
	char *page, *name;
	int err;

	if (is_usual_root(cryo_mounts_of(c, task), root))
		return 0;
	page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (!page)
		return -ENOMEM;
	name = cryo_find_name(c, root, page, &is_other);
	err = PTR_ERR_OR_ZERO(name) ?: cryo_describe_inode(root, &out);
	if (!err) {
		cryo_buf_put(&buf, &out, sizeof(out));
		cryo_buf_put(&buf, name, strlen(name));
		err = cryo_stream_buf(&c->stream, CRYO_SEC_ROOT, object, sizeof(out), &buf);
	}
	kfree(page);
	return err;
}

static int save_directories(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_path head = {};
	struct fs_view view;
	int err = get_view(p->task, &view);

	if (err)
		return err;
	err = save_dir(c, CRYO_SEC_CWD, p->pid, &view.pwd, &head, sizeof(head)) ?:
	      save_root(c, p->task, p->pid, &view.root);
	put_view(&view);
	return err;
}

/*
 * With that of the process: nothing to be found. @seen: the first thread with each of the others.
 */
static int note_directory(struct cryo_capture *c, struct cryo_proc *p, struct xarray *seen,
			  struct cryo_parked *t)
{
	const struct fs_struct *fs = READ_ONCE(t->task->fs);
	unsigned long index = cryo_index_of(fs);

	t->fs_users = 0;
	t->fs_first = NULL;
	if (fs == READ_ONCE(p->task->fs))
		return 0;
	t->fs_first = xa_load(seen, index) ?: t;
	t->fs_first->fs_users++;
	p->own_directories = true;
	return t->fs_first == t ? xa_err(xa_store(seen, index, t, GFP_KERNEL_ACCOUNT)) : 0;
}

/* Of the threads of the process. Once, for the questions below: each may have one of its own. */
int cryo_find_directories(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_parked *t;
	struct xarray seen;
	int err = 0;

	p->own_directories = false;
	xa_init_flags(&seen, XA_FLAGS_ACCOUNT);
	for (t = cryo_next_thread(p, NULL); t && !err; t = cryo_next_thread(p, t))
		err = note_directory(c, p, &seen, t) ?: cryo_capture_interrupted(c);
	xa_destroy(&seen);
	return err;
}

static int save_thread_fs(struct cryo_capture *c, struct cryo_proc *p, struct cryo_parked *t)
{
	struct cryo_thread_fs out = {};
	struct fs_view view;
	int err;

	if (!t->fs_first)
		return 0;
	err = get_view(t->task, &view);
	if (err)
		return err;
	out.umask = view.umask;
	out.same_as = task_pid_vnr(t->fs_first->task);
	err = save_dir(c, CRYO_SEC_THREAD_FS, task_pid_vnr(t->task), &view.pwd, &out.cwd,
		       sizeof(out));
	if (!err && t->fs_first == t)
		err = save_root(c, t->task, task_pid_vnr(t->task), &view.root);
	put_view(&view);
	return err;
}

/* More users than threads of this process. */
static bool shared_outside(struct cryo_parked *t)
{
	bool more;

	task_lock(t->task);
	more = t->task->fs && t->task->fs->users > t->fs_users;
	task_unlock(t->task);
	return more;
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

/*
 * The same by its own name: what is mounted below it is not below the same directory in another
 * mount.
 */
static bool has_own_path(struct cryo_capture *c, const struct path *path)
{
	char *page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	bool is_other = true;

	if (page && cryo_find_name(c, path, page, &is_other) == ERR_PTR(-ENOENT))
		is_other = true;
	kfree(page);
	return !is_other;
}

/* As of a job that root has started where it was, for somebody else. */
static void warn_of_pwd(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task,
			const struct path *pwd)
{
	char *page, *name;
	bool is_other;

	if (d_unlinked(pwd->dentry) || cryo_may_reach(c, task, pwd))
		return;
	page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	name = page ? cryo_find_name(c, pwd, page, &is_other) : ERR_PTR(-ENOMEM);
	if (!IS_ERR(name))
		cryo_warn_always(c, p, "thread %d: may not enter its working directory %s by this path: restart as root, or with cr_restart --relocate=OLD=NEW",
				 task_pid_vnr(task), name);
	kfree(page);
}

/*
 * If the process is in a mount namespace of the job's own, it has to be there, too, and to have its
 * path. One that has been removed is made again elsewhere.
 */
static void check_pwd(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task,
		      struct cryo_mounts *mounts, const struct path *pwd)
{
	int tid = task_pid_vnr(task);

	if (mounts && !d_unlinked(pwd->dentry) &&
	    (cryo_in_mounts(c, pwd->mnt) != mounts || !has_path(c, pwd)))
		cryo_refuse(c, p, "thread %d: a working directory without a path in its mount namespace is not supported",
			    tid);
	else if (!mounts && cryo_in_mounts(c, pwd->mnt))
		cryo_refuse(c, p, "thread %d: a working directory in a mount namespace other than its own is not supported",
			    tid);
	else if (!mounts && !has_path(c, pwd))
		cryo_refuse(c, p, "thread %d: a working directory that no path leads to (under another mount, or unmounted) is not supported",
			    tid);
	else
		warn_of_pwd(c, p, task, pwd);
}

/*
 * chroot(2) at the restart takes the capability over the user namespace that the process is in
 * then.
 */
static void warn_of_root(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task)
{
	const struct cred *cred = get_task_cred(task);
	bool outside = cred->user_ns == current_user_ns();

	put_cred(cred);
	if (outside && !ns_capable(current_user_ns(), CAP_SYS_CHROOT))
		cryo_warn_always(c, p, "thread %d: its root directory requires CAP_SYS_CHROOT at the restart: only root can restart it",
				 task_pid_vnr(task));
}

static void check_root(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task,
		       struct cryo_mounts *mounts, const struct path *root)
{
	int tid = task_pid_vnr(task);

	if (is_usual_root(mounts, root))
		return;
	if (d_unlinked(root->dentry))
		cryo_refuse(c, p, "thread %d: a root directory that has been removed is not supported",
			    tid);
	else if (cryo_in_mounts(c, root->mnt) != mounts)
		cryo_refuse(c, p, "thread %d: a root directory in a mount namespace other than its own is not supported",
			    tid);
	else if (!has_own_path(c, root))
		cryo_refuse(c, p, "thread %d: a root directory that no path leads to (under another mount, unmounted, or outside of the requester's) is not supported",
			    tid);
	else
		warn_of_root(c, p, task);
}

static void check_view(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task)
{
	struct cryo_mounts *mounts = cryo_mounts_of(c, task);
	struct fs_view view;

	if (get_view(task, &view))
		return;
	check_pwd(c, p, task, mounts, &view.pwd);
	check_root(c, p, task, mounts, &view.root);
	put_view(&view);
}

int cryo_check_directories(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_parked *t;
	int err = 0;

	if (p->zombie)
		return 0;
	for (t = cryo_next_thread(p, NULL); t && !err; t = cryo_next_thread(p, t)) {
		if (t->task == p->task || t->fs_first == t)
			check_view(c, p, t->task);
		err = cryo_capture_interrupted(c);
	}
	return err;
}

void cryo_check_thread_fs(struct cryo_capture *c, struct cryo_parked *t)
{
	if (t->fs_first == t && shared_outside(t))
		cryo_refuse(c, t->proc, "thread %d: a working directory shared with another process (CLONE_FS) is not supported",
			    task_pid_vnr(t->task));
}

const struct cryo_resource cryo_resource_directories = {
	.save = save_directories,
};

const struct cryo_thread_resource cryo_thread_resource_directories = {
	.save = save_thread_fs,
};
