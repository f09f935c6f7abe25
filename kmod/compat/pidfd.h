/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * linux/pid.h: pidfd_pid() is not exported; uapi/linux/pidfd.h has what follows since v6.9 and
 * v7.1.
 */
#ifndef CRYO_COMPAT_PIDFD_H
#define CRYO_COMPAT_PIDFD_H

#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/pid.h>
#include <linux/pidfd.h>
#include <linux/string.h>

/*
 * The pid of a pidfd, NULL when it is none. A file system of their own since v6.9 (cb12fd8e0dab).
 */
static inline struct pid *cryo_pidfd_pid(struct file *file)
{
	if (file->f_mode & FMODE_PATH)
		return NULL;
#ifdef PID_FS_MAGIC
	if (file_inode(file)->i_sb->s_magic == PID_FS_MAGIC)
		return file_inode(file)->i_private;
#else
	if (file_inode(file)->i_sb->s_magic == ANON_INODE_FS_MAGIC &&
	    file->f_op->show_fdinfo && !strcmp(file->f_path.dentry->d_name.name, "[pidfd]"))
		return file->private_data;
#endif
	return NULL;
}

static inline bool cryo_pidfd_is_of_thread(const struct file *file)
{
#ifdef PIDFD_THREAD
	return file->f_flags & PIDFD_THREAD;
#else
	return false;
#endif
}

/* Its process is killed when it is closed. */
static inline bool cryo_pidfd_kills(const struct file *file)
{
#ifdef PIDFD_AUTOKILL
	return file->f_flags & PIDFD_AUTOKILL;
#else
	return false;
#endif
}

#endif
