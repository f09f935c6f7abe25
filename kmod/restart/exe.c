// SPDX-License-Identifier: GPL-2.0-only
/*
 * exe.c - the executable that /proc/PID/exe names
 *
 * Everything belongs to the calling process.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/path.h>
#include <linux/sched.h>
#include <linux/user_namespace.h>

#include "access/exceptions.h"
#include "compat/ksym.h"
#include "restart/calls.h"

static bool may_not_exec(const struct path *path)
{
	return path->mnt->mnt_flags & MNT_NOEXEC || path->mnt->mnt_sb->s_iflags & SB_I_NOEXEC;
}

/*
 * A process may be cr_restart itself: its file is mapped, and is not replaced by the kernel then.
 */
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

static bool is_same_file(const struct file *mapped, const struct file *file)
{
	/* Of overlayfs, the file below is mapped. */
	return file_inode(mapped) == file_inode(file) ||
	       file_inode(mapped) == d_real_inode(file->f_path.dentry);
}

/* Does the caller run code from it? */
static int is_mapped(struct file *file)
{
	VMA_ITERATOR(vmi, current->mm, 0);
	struct vm_area_struct *vma;
	int is = 0;

	if (mmap_read_lock_killable(current->mm))
		return -EINTR;
	for_each_vma(vmi, vma) {
		is = vma->vm_flags & VM_EXEC && vma->vm_file && is_same_file(vma->vm_file, file);
		if (is)
			break;
	}
	mmap_read_unlock(current->mm);
	return is;
}

/*
 * Who restarts another user's process has its executable link made, but no other than a file that
 * it has mapped: what it asks for is what that user's context says.
 */
static int may_link(const struct cred *maker, struct file *file)
{
	struct user_namespace *ns = current_user_ns();
	int mapped;

	if (cryo_exception_capable(CRYO_EXCEPTION_EXE_LINK, ns))
		return 0;
	if (!cryo_exception_by(maker, CRYO_EXCEPTION_EXE_LINK, ns))
		return -EPERM;
	mapped = is_mapped(file);
	if (mapped < 0)
		return mapped;
	return mapped ? 0 : -EPERM;
}

/*
 * As prctl(PR_SET_MM, PR_SET_MM_MAP): who has the capability for that, any file; others, one that
 * they run.
 */
static int set_exe(const struct cred *maker, struct file *file)
{
	struct inode *inode = file_inode(file);
	int err;

	if (!S_ISREG(inode->i_mode) || may_not_exec(&file->f_path))
		return -EACCES;
	if (is_exe(file))
		return 0;
	err = may_link(maker, file) ?: file_permission(file, MAY_EXEC) ?:
	      cryo_replace_mm_exe_file(current->mm, file);
	/*
	 * Another process that shares the memory has done so meanwhile, and the memory has that
	 * file mapped.
	 */
	return err == -EBUSY && is_exe(file) ? 0 : err;
}

/*
 * What a descriptor of O_PATH refers to, opened as execve(2) would for the caller: who may execute
 * a file need not be able to read it, and can read no more of it by way of the link.
 */
static struct file *open_path(const struct file *place)
{
	int err = path_permission(&place->f_path, MAY_EXEC);

	if (err)
		return ERR_PTR(err);
	return dentry_open(&place->f_path, O_RDONLY | O_LARGEFILE | __FMODE_EXEC, current_cred());
}

/*
 * With O_PATH, closing @fd does not take from the process its POSIX locks on its own executable,
 * which it has again by now.
 */
int cryo_restart_take_exe(const struct cred *maker, int fd)
{
	struct file *file = fget_raw(fd);
	struct file *opened;
	int err;

	if (!file)
		return -EBADF;
	opened = file->f_mode & FMODE_PATH ? open_path(file) : get_file(file);
	fput(file);
	if (IS_ERR(opened))
		return PTR_ERR(opened);
	err = set_exe(maker, opened);
	fput(opened);
	return err;
}
