/* SPDX-License-Identifier: GPL-2.0-only */
/* fs_struct.h - the lock of what a working directory, a root and a umask are kept in */
#ifndef CRYO_COMPAT_FS_STRUCT_H
#define CRYO_COMPAT_FS_STRUCT_H

#include <linux/fs_struct.h>
#include <linux/path.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/version.h>

/* As readers take it: the number of users changes under it, what it holds does not. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
static inline void cryo_fs_lock(struct fs_struct *fs)
{
	read_seqlock_excl(&fs->seq);
}

static inline void cryo_fs_unlock(struct fs_struct *fs)
{
	read_sequnlock_excl(&fs->seq);
}
#else
static inline void cryo_fs_lock(struct fs_struct *fs)
{
	spin_lock(&fs->lock);
}

static inline void cryo_fs_unlock(struct fs_struct *fs)
{
	spin_unlock(&fs->lock);
}
#endif

/*
 * free_fs_struct(), which is not exported, of one that has no user any more. kfree() finds out by
 * itself which cache an object is of.
 */
static inline void cryo_free_fs_struct(struct fs_struct *fs)
{
	path_put(&fs->root);
	path_put(&fs->pwd);
	kfree(fs);
}

#endif /* CRYO_COMPAT_FS_STRUCT_H */
