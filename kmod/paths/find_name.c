// SPDX-License-Identifier: GPL-2.0-only
/*
 * find_name.c - the name by which a restart finds what a process has open
 *
 * What d_path() says of an open file is where it was found once. The name may lead elsewhere by
 * now: another mount has been put over a directory on the way, or the mount has been taken away
 * (umount -l). And a file whose name has been removed may have another one, as programs make a
 * complete file appear by link() and unlink(). Who took the name for the file would read, cut and
 * write somebody else's.
 *
 * So each name is looked at from the file upwards, through dentries and mounts that its user holds
 * anyway: nothing is looked up, nobody is asked, and it takes as many steps as the path has parts.
 */
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/kdev_t.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <linux/mount.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <cryo/format.h>

#include "access/access.h"
#include "capture/capture.h"
#include "compat/fs.h"
#include "lib/walk_path.h"
#include "paths/find.h"
#include "paths/mounts.h"

/* Is something mounted over it? */
static bool is_covered(const struct path *path)
{
	struct path over = *path;
	bool covered;

	if (!d_mountpoint(path->dentry))
		return false;
	path_get(&over);
	covered = follow_down_one(&over);
	path_put(&over);
	return covered;
}

/*
 * Has its file system let go of the name? Others than those that are here whole forget names while
 * they are in use, and find them again.
 */
static bool is_nameless(struct dentry *dentry)
{
	return cryo_is_at_hand(dentry->d_sb) && d_unhashed(dentry);
}

/* To the directory that @at is in. False: there is none, as this is where the mounts end. */
static bool step_up(struct path *at)
{
	struct dentry *parent;

	while (at->dentry == at->mnt->mnt_root)
		if (!follow_up(at))
			return false;
	if (IS_ROOT(at->dentry) || is_nameless(at->dentry))
		return false;
	parent = dget_parent(at->dentry);
	dput(at->dentry);
	at->dentry = parent;
	return true;
}

/*
 * Does the path of @path from @root lead to it? One of more parts than fit into a name leads
 * nowhere; a user can make directories much deeper.
 */
static bool path_is_reached(const struct path *root, const struct path *path)
{
	unsigned int parts = 0;
	struct path at = *path;
	bool reached;

	path_get(&at);
	do {
		reached = path_equal(&at, root);
	} while (!reached && parts++ < PATH_MAX / 2 && !is_covered(&at) && step_up(&at));
	path_put(&at);
	return reached;
}

static void root_of(struct cryo_mounts *mounts, struct path *root)
{
	if (!mounts || !mounts->root.dentry) {
		get_fs_root(current->fs, root);
		return;
	}
	*root = mounts->root;
	path_get(root);
}

/*
 * May @task go through all directories to @path, which its own name leads to? What is on a server
 * is not asked.
 */
bool cryo_may_reach(struct cryo_capture *c, struct task_struct *task, const struct path *path)
{
	unsigned int parts = 0;
	struct path root, at = *path;
	bool may = true, up;

	root_of(cryo_in_mounts(c, path->mnt), &root);
	path_get(&at);
	up = d_is_dir(at.dentry) || step_up(&at);
	while (up && may && parts++ < PATH_MAX / 2) {
		may = !cryo_is_at_hand(at.dentry->d_sb) || cryo_may_open_as(task, &at, MAY_EXEC);
		up = !path_equal(&at, &root) && step_up(&at);
	}
	path_put(&at);
	path_put(&root);
	return may;
}

/* By a name that has not been removed, in the mount of @path. NULL: none is known there. */
static char *other_name(const struct path *root, const struct path *path, char *buf)
{
	struct path other = { .mnt = path->mnt };
	char *name = NULL;

	other.dentry = d_find_alias(d_backing_inode(path->dentry));
	if (!other.dentry)
		return NULL;
	if (!d_unlinked(other.dentry) && path_is_reached(root, &other))
		name = d_path(&other, buf, PATH_MAX);
	dput(other.dentry);
	return name;
}

/*
 * A name in @buf, of PATH_MAX bytes, that leads to @path: in its mount namespace, where that is one
 * of the job's own. An ERR_PTR: there is none, or none is known. @is_other tells that it is not the
 * one that d_path() gives.
 */
char *cryo_find_name(struct cryo_capture *c, const struct path *path, char *buf, bool *is_other)
{
	struct cryo_mounts *mounts = cryo_in_mounts(c, path->mnt);
	struct path root;
	char *name = NULL;
	int err;

	root_of(mounts, &root);
	*is_other = d_unlinked(path->dentry) || !path_is_reached(&root, path);
	name = *is_other ? other_name(&root, path, buf) : d_path(path, buf, PATH_MAX);
	path_put(&root);
	if (name || mounts)
		return name ?: ERR_PTR(-ENOENT);
	err = cryo_find_path(c, d_backing_inode(path->dentry), buf);
	return err ? ERR_PTR(err) : buf;
}

/*
 * Removed, while the file itself has not been: it has more names. Not asked of files that are made
 * up when somebody looks, nor where the count of names is not kept.
 */
bool cryo_has_other_name(const struct path *path)
{
	const struct super_block *sb = path->dentry->d_sb;

	if (!d_unlinked(path->dentry) || !READ_ONCE(d_inode(path->dentry)->i_nlink))
		return false;
	switch (sb->s_magic) {
	case OVERLAYFS_SUPER_MAGIC:
		return true;
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case PROC_SUPER_MAGIC:
		return false;
	}
	return sb->s_export_op;
}

/*
 * The name that a device of memory has everywhere: its own may be in a place that is out of reach,
 * or have been removed.
 */
static const char *name_of_memory(dev_t dev)
{
	if (MAJOR(dev) != MEM_MAJOR)
		return NULL;
	switch (MINOR(dev)) {
	case 3:
		return "/dev/null";
	case 5:
		return "/dev/zero";
	case 7:
		return "/dev/full";
	case 8:
		return "/dev/random";
	case 9:
		return "/dev/urandom";
	}
	return NULL;
}

/* Not a device: cr_restart compares the number, and it is the same by whatever name. */
static bool is_found_by_name(struct cryo_object *o)
{
	umode_t mode = file_inode(o->file)->i_mode;

	switch (o->kind) {
	case CRYO_FILE_PATH:
		return !S_ISCHR(mode) && !S_ISBLK(mode);
	case CRYO_FILE_DEVICE:
		return d_unlinked(cryo_user_path(o->file)->dentry);
	case CRYO_FILE_FIFO:
	case CRYO_FILE_HUGETLB:
		return !(o->inode->inode_flags & CRYO_INODE_DELETED);
	}
	return false;
}

static int keep_name(struct cryo_object *o, const char *name)
{
	o->name = kstrdup(name, GFP_KERNEL_ACCOUNT);
	return o->name ? 0 : -ENOMEM;
}

/*
 * It is saved with its contents, by the requester's wish, and nobody of the job will miss what he
 * writes to it.
 */
static bool does_without_name(struct cryo_object *o)
{
	if (!S_ISREG(file_inode(o->file)->i_mode) || o->file->f_mode & FMODE_WRITE ||
	    !(o->inode->inode_flags & CRYO_INODE_CONTENTS))
		return false;
	if (o->kind != CRYO_FILE_HUGETLB)
		o->kind = CRYO_FILE_CONTENTS;
	o->inode->inode_flags |= CRYO_INODE_DELETED;
	return true;
}

/*
 * Could its process open it by that name? It may have got it from somebody with more rights, as the
 * C library gets the cache of nscd(8). What is on a server is not asked.
 */
static bool may_open(struct cryo_object *o)
{
	const struct path *path = cryo_user_path(o->file);
	int mask = o->fd < 0 || o->file->f_mode & FMODE_READ ? MAY_READ : 0;

	if (!cryo_is_at_hand(path->dentry->d_sb))
		return true;
	if (o->fd >= 0 && o->file->f_mode & FMODE_WRITE)
		mask |= MAY_WRITE;
	return cryo_may_open_as(o->proc->task, path, mask);
}

static bool is_owned(struct cryo_object *o)
{
	const struct cred *cred = get_task_cred(o->proc->task);
	bool owned = uid_eq(cred->fsuid, file_inode(o->file)->i_uid);

	put_cred(cred);
	return owned;
}

/* A directory, FIFO or device: nothing of it is in the context that could take its place. */
static void warn_of_opened(struct cryo_capture *c, struct cryo_object *o, const char *name)
{
	if (S_ISDIR(file_inode(o->file)->i_mode))
		cryo_warn_always(c, o->proc, "fd %d (%s): the process may not reopen this directory by its path: restart as root, or with cr_restart --relocate=OLD=NEW",
				 o->fd, name);
	else if (o->fd >= 0)
		cryo_warn_always(c, o->proc, "fd %d (%s): the process may not reopen it by this path with its access mode: restart as root, or with cr_restart --redirect %d=FILE",
				 o->fd, name, o->fd);
}

/* As of a log that root, or a batch system, has opened for the job. */
static void warn_of_opener(struct cryo_capture *c, struct cryo_object *o, const char *name)
{
	if (o->fd < 0)
		cryo_warn_always(c, o->proc, "%s: the process may not reopen it for writing, but has it mapped writable: restart as root",
				 name);
	else
		cryo_warn_always(c, o->proc, "fd %d (%s): the process may not reopen it for writing: restart as root, from a process that has this file open, or with cr_restart --redirect %d=FILE",
				 o->fd, name, o->fd);
}

/*
 * The user of the process could not restart it: what is only read is saved, as if it had no name.
 */
static void save_what_cannot_be_opened(struct cryo_capture *c, struct cryo_object *o,
				       const char *name, bool reached)
{
	if (o->file->f_flags & O_PATH || (may_open(o) && reached))
		return;
	if (!S_ISREG(file_inode(o->file)->i_mode))
		return warn_of_opened(c, o, name);
	if (o->kind != CRYO_FILE_PATH)
		return;
	if (o->file->f_mode & FMODE_READ && !(o->file->f_mode & FMODE_WRITE)) {
		o->inode->inode_flags |= CRYO_INODE_CONTENTS;
		if (o->fd >= 0)
			o->inode->inode_flags |= CRYO_INODE_DELETED;
		o->kind = CRYO_FILE_CONTENTS;
	} else if (!reached || !is_owned(o)) {
		/* Its owner can change its mode. */
		warn_of_opener(c, o, name);
	}
}

/* By the name that it was opened by. */
static bool has_own_name(struct cryo_capture *c, const struct path *path)
{
	struct path root;
	bool has;

	root_of(cryo_in_mounts(c, path->mnt), &root);
	has = !d_unlinked(path->dentry) && path_is_reached(&root, path);
	path_put(&root);
	return has;
}

/* Its name is saved later, if it can be had. */
static int warn_of_device(struct cryo_capture *c, struct cryo_object *o)
{
	const struct path *path = cryo_user_path(o->file);
	umode_t mode = file_inode(o->file)->i_mode;
	bool is_other;
	char *buf, *name;

	if ((o->kind != CRYO_FILE_PATH && o->kind != CRYO_FILE_DEVICE) ||
	    (!S_ISCHR(mode) && !S_ISBLK(mode)) || o->file->f_flags & O_PATH ||
	    (may_open(o) && cryo_may_reach(c, o->proc->task, path)))
		return 0;
	buf = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	name = cryo_find_name(c, path, buf, &is_other);
	if (!IS_ERR(name))
		warn_of_opened(c, o, name);
	kfree(buf);
	return 0;
}

const char *cryo_name_obstacle(struct cryo_capture *c, struct cryo_object *o)
{
	const struct path *path = cryo_user_path(o->file);
	const char *device = name_of_memory(file_inode(o->file)->i_rdev);
	bool is_other;
	char *buf, *name;
	int err = 0;

	if (device && o->kind == CRYO_FILE_PATH && !has_own_name(c, path))
		return ERR_PTR(keep_name(o, device));
	if (!is_found_by_name(o))
		return ERR_PTR(warn_of_device(c, o));
	buf = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return ERR_PTR(-ENOMEM);
	name = cryo_find_name(c, path, buf, &is_other);
	if (!IS_ERR(name) && is_other)
		err = keep_name(o, name);
	if (!IS_ERR(name))
		save_what_cannot_be_opened(c, o, name,
					   is_other || cryo_may_reach(c, o->proc->task, path));
	kfree(buf);
	/* Too long: said when it is saved. */
	if (!IS_ERR(name) || name == ERR_PTR(-ENAMETOOLONG))
		return ERR_PTR(err);
	if (name != ERR_PTR(-ENOENT))
		return ERR_CAST(name);
	if (does_without_name(o))
		return NULL;
	if (cryo_has_other_name(path))
		return "file with a deleted name and an uncached hard link (stat(1) that first)";
	return "file that no path leads to (under another mount, or unmounted)";
}
