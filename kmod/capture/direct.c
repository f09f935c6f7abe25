// SPDX-License-Identifier: GPL-2.0-only
/*
 * direct.c - pages of memory past the page cache
 *
 * A context is written once, is as large as the memory of a job, and is on the disk before its
 * writer says that it is complete. The page cache would copy each page, push out what others have
 * in it, and then write it all the same. So pages go to the disk from where they are, as with
 * O_DIRECT, by a second open file of the same inode.
 */
#include <linux/cred.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/uio.h>

#include "capture/stream.h"

/*
 * What is known to write its own blocks; what sends them to others may have good reasons to collect
 * them first.
 */
static bool is_on_block_device(const struct inode *inode)
{
	return inode->i_sb->s_type->fs_flags & FS_REQUIRES_DEV;
}

/*
 * The same file, for pages. NULL: it cannot be written so, or there is no use in it. Who has it
 * open for writing at any place may do that in this way, too: dentry_open() asks nobody for
 * permission.
 */
struct file *cryo_direct_open(struct file *file, bool always)
{
	const struct inode *inode = file_inode(file);
	struct file *direct;

	if (!(file->f_mode & FMODE_WRITE))
		return NULL;
	if (!S_ISREG(inode->i_mode) || file->f_flags & (O_APPEND | O_DIRECT))
		return NULL;
	if (!always && !is_on_block_device(inode))
		return NULL;
	direct = dentry_open(&file->f_path, O_WRONLY | O_DIRECT | O_LARGEFILE, current_cred());
	return IS_ERR(direct) ? NULL : direct;
}

/* Whole pages, to where a page begins. */
bool cryo_direct_takes(const struct iov_iter *iter, loff_t pos)
{
	return iov_iter_is_bvec(iter) &&
	       IS_ALIGNED(pos | iov_iter_count(iter) | iter->iov_offset, PAGE_SIZE);
}

/*
 * Does the file system, or its device, not want @n = a write of that kind? Nothing has been written
 * then.
 */
bool cryo_direct_refused(ssize_t n)
{
	return n == -EINVAL || n == -EOPNOTSUPP || n == -ENOTBLK;
}
