// SPDX-License-Identifier: GPL-2.0-only
/*
 * restart_exe.c - the executable that /proc/PID/exe names
 *
 * Everything belongs to the calling process.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/path.h>
#include <linux/sched.h>

#include "compat/ksym.h"
#include "cryo.h"

static bool may_not_exec(const struct path *path)
{
	return path->mnt->mnt_flags & MNT_NOEXEC || path->mnt->mnt_sb->s_iflags & SB_I_NOEXEC;
}

/* A process may be cr_restart itself: its file is mapped, and is not replaced by the kernel then. */
static bool is_exe(struct file *file)
{
	struct file *exe;
	bool same;

	rcu_read_lock();
	exe = rcu_dereference(current->mm->exe_file);
	same = exe && path_equal(&exe->f_path, &file->f_path);
	rcu_read_unlock();
	return same;
}

/* As prctl(PR_SET_MM_EXE_FILE), but for the caller's own files and without capabilities. */
static int set_exe(struct file *file)
{
	struct inode *inode = file_inode(file);

	if (!S_ISREG(inode->i_mode) || may_not_exec(&file->f_path))
		return -EACCES;
	if (is_exe(file))
		return 0;
	return file_permission(file, MAY_EXEC) ?: cryo_replace_mm_exe_file(current->mm, file);
}

int cryo_restart_take_exe(int fd)
{
	struct file *file = fget(fd);
	int err;

	if (!file)
		return -EBADF;
	err = set_exe(file);
	fput(file);
	return err;
}
