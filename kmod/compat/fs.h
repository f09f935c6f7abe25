/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/fs.h, linux/filelock.h, linux/fdtable.h: files of several generations. */
#ifndef CRYO_COMPAT_FS_H
#define CRYO_COMPAT_FS_H

#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/pipe_fs_i.h>
#include <linux/version.h>

/* In linux/namei.h since v6.5 (74e60b8b2f0f); exported long before. */
int vfs_path_lookup(struct dentry *dentry, struct vfsmount *mnt, const char *name,
		    unsigned int flags, struct path *path);

/*
 * Around vfs_iter_write(): that the file system is not frozen meanwhile. Since v6.8 269aed7014b3 it
 * sees to that itself, and whoever does it once more waits for a freeze, which waits for him.
 */
static inline void cryo_start_iter_write(struct file *file)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	file_start_write(file);
#endif
}

static inline void cryo_end_iter_write(struct file *file)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	file_end_write(file);
#endif
}

/* The owner of @file, who gets its signals; NULL: none yet. Allocated since v6.12 1934b212615d. */
static inline struct fown_struct *cryo_file_owner(struct file *file)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	return file_f_owner(file);
#else
	return &file->f_owner;
#endif
}

/*
 * The path by which @file was opened. What is mapped from overlayfs has a file of a
 * layer in the area; since v6.7 def3ae83da02 its f_path leads there too.
 */
static inline const struct path *cryo_user_path(struct file *file)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	return file_user_path(file);
#else
	return &file->f_path;
#endif
}

/*
 * inode_owner_or_capable() of an open file; ids of a mount are in a mnt_idmap since v6.3
 * 01beba7957a2.
 */
static inline bool cryo_owner_or_capable(struct file *file)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	return inode_owner_or_capable(file_mnt_idmap(file), file_inode(file));
#else
	return inode_owner_or_capable(file_mnt_user_ns(file), file_inode(file));
#endif
}

/* close_on_exec(): of the table up to v6.11, of the files_struct since. */
static inline bool cryo_close_on_exec(unsigned int fd, struct files_struct *files)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	return close_on_exec(fd, files);
#else
	return close_on_exec(fd, files_fdtable(files));
#endif
}

/*
 * Is @file the reading end of a FIFO to which no writer has come since it was opened?  Then poll()
 * does not tell that there is none.  The mark lies in f_pipe since v6.12.
 */
static inline bool cryo_fifo_quiet(struct file *file)
{
	const struct pipe_inode_info *pipe = file->private_data;

	if ((file->f_mode & (FMODE_READ | FMODE_WRITE)) != FMODE_READ || pipe->writers)
		return false;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	return file->f_pipe == pipe->w_counter;
#else
	return file->f_version == pipe->w_counter;
#endif
}

#endif
