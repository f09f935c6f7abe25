// SPDX-License-Identifier: GPL-2.0-only
/*
 * own_proc.c - a proc file system for the capture alone
 *
 * What stands at /proc is for whoever has mounted something there to say, and a user may be that in
 * a mount namespace of his own. So /proc is not asked: a file system of the same kind is made, of
 * the requester's pid namespace, that is mounted nowhere.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/path.h>

#include "capture/capture.h"
#include "paths/paths.h"

static struct vfsmount *make_proc(void)
{
	struct file_system_type *type = get_fs_type("proc");
	struct vfsmount *mnt;

	if (!type)
		return ERR_PTR(-ENODEV);
	mnt = vfs_kern_mount(type, SB_KERNMOUNT, type->name, NULL);
	module_put(type->owner);
	if (IS_ERR(mnt) || mnt->mnt_sb->s_magic == PROC_SUPER_MAGIC)
		return mnt;
	mntput(mnt);
	return ERR_PTR(-ENODEV);
}

struct file *cryo_proc_open(struct cryo_capture *c, const char *name)
{
	struct vfsmount *mnt;
	struct path root;

	if (!c->proc) {
		mnt = make_proc();
		if (IS_ERR(mnt))
			return ERR_CAST(mnt);
		c->proc = mnt;
	}
	root.mnt = c->proc;
	root.dentry = c->proc->mnt_root;
	return file_open_root(&root, name, O_RDONLY, 0);
}

void cryo_proc_free(struct cryo_capture *c)
{
	if (c->proc)
		mntput(c->proc);
	c->proc = NULL;
}
