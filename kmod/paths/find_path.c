// SPDX-License-Identifier: GPL-2.0-only
/*
 * find_path.c - a path that leads to an inode
 *
 * An inode knows its names inside its file system, but not where that is mounted (mountinfo.c):
 * each mount of it is tried.
 */
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/path.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "capture/capture.h"
#include "lib/walk_path.h"
#include "paths/find.h"
#include "paths/mounts.h"

/* The part of @name, inside the file system, below @root; NULL: it is not. */
static const char *path_below(const char *name, const char *root)
{
	size_t len = strlen(root);

	if (!strcmp(root, "/"))
		return name;
	if (strncmp(name, root, len) || (name[len] && name[len] != '/'))
		return NULL;
	return name + len;
}

int cryo_not_found(int err)
{
	return err == -ENOMEM || err == -EINTR ? err : 0;
}

int cryo_path_leads_to(const char *path, struct inode *inode)
{
	struct path found;
	bool same;
	int err = cryo_walk_own_path(path, &found);

	if (err)
		return cryo_not_found(err);
	same = d_backing_inode(found.dentry) == inode;
	path_put(&found);
	return same;
}

static int leads_to_mount(const struct cryo_mount_line *m)
{
	struct path found;
	bool same;
	int err = cryo_walk_own_path(m->point, &found);

	if (err)
		return cryo_not_found(err);
	same = found.dentry == found.mnt->mnt_root && found.dentry->d_sb->s_dev == m->dev;
	path_put(&found);
	return same;
}

/* The same, found out once. */
static int is_reached(struct cryo_mount_line *m)
{
	int leads;

	if (m->reached == CRYO_REACH_UNKNOWN) {
		leads = leads_to_mount(m);
		if (leads < 0)
			return leads;
		m->reached = leads ? CRYO_REACHED : CRYO_NOT_REACHED;
	}
	return m->reached == CRYO_REACHED;
}

/* Of the file with @name in the file system. 1: there it is, 0 or an error. */
static int try_mount(struct cryo_mount_line *m, struct inode *inode, const char *name, char *out)
{
	const char *rest = path_below(name, m->root);
	const char *point = strcmp(m->point, "/") ? m->point : "";
	int reached = rest ? is_reached(m) : 0;

	if (reached <= 0)
		return reached;
	if (!strcmp(rest, "/") && *point)
		rest = "";
	if (snprintf(out, PATH_MAX, "%s%s", point, rest) >= PATH_MAX)
		return 0;
	return cryo_path_leads_to(*out ? out : "/", inode);
}

static int try_mounts(struct cryo_capture *c, struct inode *inode, const char *name, char *out)
{
	const struct cryo_mount_table *mounts = cryo_own_mounts(c);
	u32 at = CRYO_FIRST_MOUNT;
	struct cryo_mount_line *m;
	int found = 0;

	if (IS_ERR(mounts))
		return PTR_ERR(mounts);
	while (!found && (m = cryo_next_mount(mounts, inode->i_sb->s_dev, &at)))
		found = cryo_capture_interrupted(c) ?: try_mount(m, inode, name, out);
	return found;
}

/*
 * A path to @inode in @out, which has room for PATH_MAX bytes. -ENOENT: it has no name, or none
 * that the requester can reach.
 */
int cryo_find_path(struct cryo_capture *c, struct inode *inode, char *out)
{
	struct dentry *dentry = d_find_alias(inode);
	char *page, *name;
	int found;

	if (!dentry)
		return -ENOENT;
	page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	name = page ? dentry_path_raw(dentry, page, PATH_MAX) : ERR_PTR(-ENOMEM);
	found = IS_ERR(name) ? PTR_ERR(name) : try_mounts(c, inode, name, out);
	kfree(page);
	dput(dentry);
	return found > 0 ? 0 : found ?: -ENOENT;
}

/*
 * Where @dentry is below the mount @at of the namespace, if a path leads there. 1: in @out, 0 or an
 * error.
 */
static int try_inside(const struct cryo_mounts *m, const struct path *at, struct dentry *dentry,
		      char *page, char *out)
{
	struct path found, there = { .mnt = at->mnt, .dentry = dentry };
	char *name;
	bool same;
	int err;

	if (at->mnt->mnt_sb != dentry->d_sb || !is_subdir(dentry, at->dentry))
		return 0;
	name = d_path(&there, page, PATH_MAX);
	if (IS_ERR(name))
		return 0;
	err = cryo_walk_path(&m->root, name, &found);
	if (err)
		return cryo_not_found(err);
	same = found.dentry == dentry;
	path_put(&found);
	return same && strscpy(out, name, PATH_MAX) > 0;
}

int cryo_find_path_inside(struct cryo_capture *c, const struct cryo_mounts *m, struct inode *inode,
			  char *out)
{
	const struct path *at = (const void *)m->seen.data;
	size_t i, n = m->seen.len / sizeof(*at);
	struct dentry *dentry = d_find_alias(inode);
	char *page;
	int found;

	if (!dentry)
		return -ENOENT;
	page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	found = page ? 0 : -ENOMEM;
	for (i = 0; !found && i < n; i++)
		found = cryo_capture_interrupted(c) ?: try_inside(m, &at[i], dentry, page, out);
	kfree(page);
	dput(dentry);
	return found > 0 ? 0 : found ?: -ENOENT;
}

/* Is it alone at its mount point? */
static bool is_alone(const struct cryo_mount_table *mounts, const struct cryo_mount_line *m)
{
	u32 i, n = 0;

	for (i = 0; i < mounts->n; i++)
		n += !strcmp(mounts->lines[i].point, m->point);
	return n == 1;
}

/* Whether @m, which has the right number, is found where it should be. 1, 0 or an error. */
static int take_mount(const struct cryo_mount_table *mounts, const struct cryo_mount_line *m,
		      bool by_id, char *out)
{
	int there = leads_to_mount(m);

	if (there <= 0)
		return there;
	if (by_id && !is_alone(mounts, m))
		return -ENOENT;
	return strscpy(out, m->point, PATH_MAX) > 0;
}

/*
 * The mount point of mount @id, or when that is 0, one of the file system @dev, in @out, which has
 * room for PATH_MAX bytes. -ENOENT: no path leads the requester there, or it may be one to another
 * mount.
 */
int cryo_find_mount(struct cryo_capture *c, u32 id, dev_t dev, char *out)
{
	const struct cryo_mount_table *mounts = cryo_own_mounts(c);
	int found = 0;
	u32 i;

	if (IS_ERR(mounts))
		return PTR_ERR(mounts);
	for (i = 0; !found && i < mounts->n; i++) {
		const struct cryo_mount_line *m = &mounts->lines[i];

		if (id ? m->id == id : m->dev == dev)
			found = cryo_capture_interrupted(c) ?: take_mount(mounts, m, id, out);
	}
	return found > 0 ? 0 : found ?: -ENOENT;
}
