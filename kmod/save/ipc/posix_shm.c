// SPDX-License-Identifier: GPL-2.0-only
/*
 * posix_shm.c - shared memory and semaphores of shm_open(3) and sem_open(3)
 *
 * For the kernel these are files like others, but what is in them is memory: it goes on with those
 * who have it mapped, and is gone when the machine is off. So their contents are saved, and there
 * is a name at the restart.
 */
#include <linux/dcache.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/slab.h>

#include "compat/fs.h"
#include "save/ipc.h"

/* Where the C library makes them, shm_overview(7). */
#define SHM_DIRECTORY	"/dev/shm/"

/*
 * The name of @file now, in @buf. sem_open() makes a semaphore under a name for the moment, links
 * it to its own and takes the first one away: what it has mapped looks like a deleted file.
 * Returns NULL when there is none, or an ERR_PTR.
 */
char *cryo_posix_shm_name(struct file *file, char *buf, size_t size)
{
	struct path path = *cryo_user_path(file);
	char *name;

	path.dentry = d_find_alias(d_inode(path.dentry));
	if (!path.dentry)
		return NULL;
	name = d_unlinked(path.dentry) ? NULL : d_path(&path, buf, size);
	dput(path.dentry);
	return name;
}

/* One that has no name any more is saved as any file without a name. 1, 0 or -ENOMEM. */
int cryo_is_posix_shm(struct file *file)
{
	struct super_block *sb = cryo_user_path(file)->dentry->d_sb;
	int has_name = 0;
	char *buf, *name;

	if (sb->s_magic != TMPFS_MAGIC || sb->s_flags & SB_KERNMOUNT)
		return 0;
	buf = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	name = cryo_posix_shm_name(file, buf, PATH_MAX);
	if (!IS_ERR_OR_NULL(name))
		has_name = !strncmp(name, SHM_DIRECTORY, strlen(SHM_DIRECTORY));
	kfree(buf);
	return has_name;
}

/*
 * What shm_open(3) has given, which need not be mapped yet, or any more: it does not follow
 * symbolic links, which hardly anybody else asks for. Other files there are read and written as
 * everywhere. 1, 0 or -ENOMEM.
 */
int cryo_is_shm_descriptor(struct file *file)
{
	if (!S_ISREG(file_inode(file)->i_mode) || !(file->f_flags & O_NOFOLLOW) ||
	    !(file->f_mode & FMODE_WRITE))
		return 0;
	return cryo_is_posix_shm(file);
}
