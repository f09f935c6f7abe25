// SPDX-License-Identifier: GPL-2.0-only
/*
 * find_path.c - a path that leads to an inode
 *
 * An inode knows its names inside its file system, but not where that is mounted: mounts are private to
 * the kernel.  They are in /proc/self/mountinfo, and each candidate is tried.
 */
#include <linux/ctype.h>
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/mm.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/string_helpers.h>

#include "cryo.h"

#define MOUNTINFO_MAX	(8UL * 1024 * 1024)

/* The text of a file in /proc that tells of mounts, to be freed with kvfree(); or an ERR_PTR. */
char *cryo_mountinfo(const char *path)
{
	struct file *file = filp_open(path, O_RDONLY, 0);
	size_t size = 64 * 1024, len = 0;
	char *text = NULL;
	ssize_t n = 0;
	loff_t pos;

	if (IS_ERR(file))
		return ERR_CAST(file);
	for (; n >= 0 && size <= MOUNTINFO_MAX; size *= 2) {
		kvfree(text);
		text = kvmalloc(size, GFP_KERNEL_ACCOUNT);
		if (!text)
			break;
		for (pos = len = 0; len < size; len += n) {
			n = kernel_read(file, text + len, size - len, &pos);
			if (n <= 0)
				break;
		}
		/* An error of the file is not its end. */
		if (n >= 0 && len < size) {
			text[len] = '\0';
			fput(file);
			return text;
		}
	}
	fput(file);
	kvfree(text);
	return ERR_PTR(n < 0 ? n : -ENOMEM);
}

/* The part of @name, inside the file system, below @root; NULL: it is not. */
static const char *below(const char *name, const char *root)
{
	size_t len = strlen(root);

	if (!strcmp(root, "/"))
		return name;
	if (strncmp(name, root, len) || (name[len] && name[len] != '/'))
		return NULL;
	return name + len;
}

/* What a lookup that failed by @err tells: 0, nothing is there; or that there was no memory for it. */
int cryo_not_found(int err)
{
	return err == -ENOMEM ? err : 0;
}

/* Is @inode what the requester finds at @path? 1, 0 or -ENOMEM. */
int cryo_leads_to(const char *path, struct inode *inode)
{
	struct path found;
	bool same;
	int err = kern_path(path, 0, &found);

	if (err)
		return cryo_not_found(err);
	same = d_backing_inode(found.dentry) == inode;
	path_put(&found);
	return same;
}

/* One mount: "id parent major:minor root mountpoint ...". 1: there it is, 0 or -ENOMEM. */
static int try_mount(char *line, struct inode *inode, const char *name, char *out)
{
	char *field[5];
	unsigned int major, minor, i;
	const char *rest;

	for (i = 0; i < ARRAY_SIZE(field); i++) {
		field[i] = strsep(&line, " ");
		if (!field[i])
			return 0;
	}
	if (sscanf(field[2], "%u:%u", &major, &minor) != 2 ||
	    MKDEV(major, minor) != inode->i_sb->s_dev)
		return 0;
	string_unescape_inplace(field[3], UNESCAPE_OCTAL);
	string_unescape_inplace(field[4], UNESCAPE_OCTAL);
	rest = below(name, field[3]);
	if (!rest)
		return 0;
	if (!strcmp(field[4], "/"))
		field[4] = "";
	if (!strcmp(rest, "/") && *field[4])
		rest = "";
	if (snprintf(out, PATH_MAX, "%s%s", field[4], rest) >= PATH_MAX)
		return 0;
	return cryo_leads_to(*out ? out : "/", inode);
}

/*
 * A path to @inode in @out, which has room for PATH_MAX bytes.  -ENOENT: it has no name, or none that
 * the requester can reach.
 */
int cryo_find_path(const char *mountinfo, struct inode *inode, char *out)
{
	struct dentry *dentry = d_find_alias(inode);
	char *copy, *rest, *line, *page, *name;
	int err = -ENOENT, found = 0;

	if (!dentry)
		return -ENOENT;
	page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	copy = kvmalloc(strlen(mountinfo) + 1, GFP_KERNEL_ACCOUNT);
	name = page ? dentry_path_raw(dentry, page, PATH_MAX) : ERR_PTR(-ENOMEM);
	if (!copy || IS_ERR(name)) {
		err = copy ? PTR_ERR(name) : -ENOMEM;
		goto free;
	}
	memcpy(copy, mountinfo, strlen(mountinfo) + 1);
	rest = copy;
	while (!found && (line = strsep(&rest, "\n")))
		if (*line)
			found = try_mount(line, inode, name, out);
	if (found)
		err = min(found, 0);
free:
	kvfree(copy);
	kfree(page);
	dput(dentry);
	return err;
}

struct mount_entry {
	u32 id;
	dev_t dev;
	char *point;
};

/* Cuts @line up. */
static bool take_mount(char *line, struct mount_entry *m)
{
	unsigned int major, minor;

	if (sscanf(line, "%u %*u %u:%u", &m->id, &major, &minor) != 3)
		return false;
	m->dev = MKDEV(major, minor);
	strsep(&line, " ");
	strsep(&line, " ");
	strsep(&line, " ");
	strsep(&line, " ");
	m->point = strsep(&line, " ");
	if (!m->point)
		return false;
	string_unescape_inplace(m->point, UNESCAPE_OCTAL);
	return true;
}

static int leads_to_mount(const struct mount_entry *m)
{
	struct path found;
	bool same;
	int err = kern_path(m->point, 0, &found);

	if (err)
		return cryo_not_found(err);
	same = found.dentry == found.mnt->mnt_root && found.dentry->d_sb->s_dev == m->dev;
	path_put(&found);
	return same;
}

/* How many mounts are at @point. @copy has room for @mountinfo. */
static unsigned int mounts_at(const char *mountinfo, const char *point, char *copy)
{
	char *rest = copy, *line;
	struct mount_entry m;
	unsigned int n = 0;

	memcpy(copy, mountinfo, strlen(mountinfo) + 1);
	while ((line = strsep(&rest, "\n")))
		n += take_mount(line, &m) && !strcmp(m.point, point);
	return n;
}

/*
 * The mount point of mount @id, or when that is 0, one of the file system @dev, in @out, which has room
 * for PATH_MAX bytes.  -ENOENT: no path leads the requester there, or it may be one to another mount.
 */
int cryo_find_mount(const char *mountinfo, u32 id, dev_t dev, char *out)
{
	size_t size = strlen(mountinfo) + 1;
	char *copy = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	char *again = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	char *rest = copy, *line;
	struct mount_entry m;
	int err = copy && again ? -ENOENT : -ENOMEM;
	int there;

	if (err == -ENOENT)
		memcpy(copy, mountinfo, size);
	while (err == -ENOENT && (line = strsep(&rest, "\n"))) {
		if (!take_mount(line, &m) || (id ? m.id != id : m.dev != dev))
			continue;
		there = leads_to_mount(&m);
		if (there < 0)
			err = there;
		if (there <= 0)
			continue;
		if (id && mounts_at(mountinfo, m.point, again) != 1)
			break;
		if (strscpy(out, m.point, PATH_MAX) > 0)
			err = 0;
	}
	kvfree(copy);
	kvfree(again);
	return err;
}
