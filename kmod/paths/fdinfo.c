// SPDX-License-Identifier: GPL-2.0-only
/*
 * fdinfo.c - ask the object
 *
 * eventfd, epoll and the like keep their state in private structures, but tell
 * it in /proc/PID/fdinfo, in a format that is part of the kernel's interface.
 */
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "paths/fdinfo.h"

#define FDINFO_MAX	(16UL * 1024 * 1024)

/*
 * Is @file, which has no inode of its own, of the kind that the kernel calls @name? Nobody else
 * gives names in that file system.
 */
bool cryo_is_anon_file(struct file *file, const char *name)
{
	return file_inode(file)->i_sb->s_magic == ANON_INODE_FS_MAGIC &&
	       !strcmp(file->f_path.dentry->d_name.name, name) && file->f_op->show_fdinfo;
}

char *cryo_fdinfo(struct file *file)
{
	struct seq_file seq = { .file = file };
	size_t size = PAGE_SIZE;

	if (!file->f_op->show_fdinfo)
		return ERR_PTR(-EOPNOTSUPP);
	mutex_init(&seq.lock);
	for (; size <= FDINFO_MAX; size *= 2) {
		seq.buf = kvzalloc(size, GFP_KERNEL_ACCOUNT);
		if (!seq.buf)
			return ERR_PTR(-ENOMEM);
		seq.size = size;
		seq.count = 0;
		file->f_op->show_fdinfo(&seq, file);
		if (!seq_has_overflowed(&seq) && seq.count < size) {
			seq.buf[seq.count] = '\0';
			return seq.buf;
		}
		kvfree(seq.buf);
	}
	return ERR_PTR(-EFBIG);
}
