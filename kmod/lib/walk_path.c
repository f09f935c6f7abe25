// SPDX-License-Identifier: GPL-2.0-only
/*
 * walk_path.c - resolve a path without waiting for a server
 *
 * A lookup in a file system in user space or across a network waits for whoever serves it, and not
 * always killably: the kernel waits until an answer comes for what a FUSE server has been given to
 * do. That must not stop a checkpoint, as long as threads that have been killed wait for its end.
 * But the paths that are looked up here are those of mounts and of files in use: their dentries are
 * there, and stay. So such file systems are asked for what can be told at once, and where that is
 * not enough, the dentry counts.
 *
 * No symbolic link is followed, as there is none in what d_path() says, and nothing is mounted.
 */
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/sched/signal.h>
#include <linux/stringhash.h>

#include "compat/fs.h"
#include "lib/walk_path.h"

/* Are its files on a disk of this machine? What is only in memory has all its dentries there. */
static bool is_on_disk(const struct super_block *sb)
{
	return sb->s_type->fs_flags & FS_REQUIRES_DEV && sb->s_magic != FUSE_SUPER_MAGIC;
}

bool cryo_is_at_hand(const struct super_block *sb)
{
	return is_on_disk(sb) || sb->s_magic == TMPFS_MAGIC || sb->s_magic == HUGETLBFS_MAGIC;
}

/* What is known by that name; NULL: nothing. Counted. */
static struct dentry *known_as(struct dentry *dir, const char *name)
{
	struct qstr key = QSTR_INIT(name, strlen(name));
	struct dentry *dentry;

	key.hash = full_name_hash(dir, name, key.len);
	dentry = d_lookup(dir, &key);
	if (!dentry || !d_really_is_negative(dentry))
		return dentry;
	dput(dentry);
	return NULL;
}

/*
 * To @dentry in the directory @at, and to what is mounted there. Takes over the count of @dentry.
 */
static void step_to_dentry(const struct path *at, struct dentry *dentry, struct path *next)
{
	next->mnt = mntget(at->mnt);
	next->dentry = dentry;
	while (d_mountpoint(next->dentry) && follow_down_one(next))
		;
}

/*
 * What a directory of an overlay lets be done where its access control list is not at hand, which
 * may be on a server: its mode tells, which has no more for the group than any entry of the list.
 */
static int permission_by_mode(const struct inode *inode)
{
	umode_t mode = READ_ONCE(inode->i_mode);

	if (mode & 0001 || (mode & 0010 && in_group_p(inode->i_gid)))
		return 0;
	return ns_capable(inode->i_sb->s_user_ns, CAP_DAC_READ_SEARCH) ? 0 : -EACCES;
}

/* Through the directory @at, to what is known in it. */
static int may_go_through(const struct path *at)
{
	const struct super_block *sb = at->dentry->d_sb;
	int err;

	if (cryo_is_at_hand(sb))
		return path_permission(at, MAY_EXEC);
	rcu_read_lock();
	err = path_permission(at, MAY_EXEC | MAY_NOT_BLOCK);
	rcu_read_unlock();
	if (err != -ECHILD)
		return err;
	/* Else only its server could tell, and may never answer. */
	return sb->s_magic == OVERLAYFS_SUPER_MAGIC ? permission_by_mode(d_inode(at->dentry)) : 0;
}

/* To what is @known by that name in the directory @at; NULL: nothing. Takes over its count. */
static int step_to_known(const struct path *at, struct dentry *known, struct path *next)
{
	int err = known ? may_go_through(at) : -ENOENT;

	if (err)
		dput(known);
	else
		step_to_dentry(at, known, next);
	return err;
}

static int step_by_name(const struct path *at, const char *name, struct path *next)
{
	struct dentry *known = known_as(at->dentry, name);
	int err;

	/* The root of a network's file system is asked for whenever a lookup comes to it. */
	if (known && d_mountpoint(known))
		return step_to_known(at, known, next);
	err = vfs_path_lookup(at->dentry, at->mnt, name, LOOKUP_CACHED, next);
	if (err == -EAGAIN && is_on_disk(at->dentry->d_sb))
		err = vfs_path_lookup(at->dentry, at->mnt, name, 0, next);
	if (err == -EAGAIN)
		return step_to_known(at, known, next);
	dput(known);
	return err;
}

int cryo_walk_path(const struct path *root, const char *name, struct path *found)
{
	char part[NAME_MAX + 1];
	struct path next;
	size_t len;
	int err;

	*found = *root;
	path_get(found);
	for (;;) {
		name += strspn(name, "/");
		len = strcspn(name, "/");
		if (!len)
			return 0;
		err = len > NAME_MAX ? -ENAMETOOLONG : fatal_signal_pending(current) ? -EINTR : 0;
		if (!err) {
			memcpy(part, name, len);
			part[len] = '\0';
			err = step_by_name(found, part, &next);
		}
		path_put(found);
		if (err)
			return err;
		*found = next;
		name += len;
	}
}

int cryo_walk_own_path(const char *name, struct path *found)
{
	struct path root;
	int err;

	get_fs_root(current->fs, &root);
	err = cryo_walk_path(&root, name, found);
	path_put(&root);
	return err;
}
