// SPDX-License-Identifier: GPL-2.0-only
/*
 * uring_state.c - rings of io_uring(7): their counters, and where they are mapped
 *
 * No call sets what the kernel has counted, and none maps a ring at a place of the caller's choice:
 * its own get_unmapped_area() refuses addresses, for the sake of machines on which these have
 * colours.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mutex.h>

#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "compat/io_uring.h"
#include "lib/args.h"
#include "restart/calls.h"
#include "save/files/uring.h"

static int set_counters(struct io_ring_ctx *ctx, const struct cryo_uring_counters *args)
{
	int err = 0;

	if (mutex_lock_killable(&ctx->uring_lock))
		return -EINTR;
	spin_lock(&ctx->completion_lock);
	/* Nothing has been submitted to it, nor has anything been put into it by others. */
	if (ctx->flags & ~CRYO_URING_FLAGS)
		err = -EINVAL;
	else if (ctx->cached_sq_head || ctx->cached_cq_tail || ctx->cqe_cached ||
		 !list_empty(&ctx->cq_overflow_list))
		err = -EBUSY;
	else
		cryo_uring_set_counters(ctx, args->sq_head, args->cq_tail);
	spin_unlock(&ctx->completion_lock);
	mutex_unlock(&ctx->uring_lock);
	return err;
}

/* CRYO_RST_URING */
long cryo_restart_uring(void __user *arg)
{
	struct cryo_uring_counters args;
	struct file *file;
	int err;

	err = cryo_copy_args(&args, sizeof(args),
			     offsetofend(struct cryo_uring_counters, cq_tail), arg);
	if (err)
		return err;
	file = fget(args.fd);
	if (!file)
		return -EBADF;
	err = cryo_is_uring(file) ? set_counters(file->private_data, &args) : -EINVAL;
	fput(file);
	return err;
}

/* mmap(2) of a restart handle: of the ring whose descriptor is in the offset. */
int cryo_restart_uring_mmap(struct vm_area_struct *vma)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 fd = offset >> CRYO_URING_FD_SHIFT;
	struct file *file;
	int err = -EINVAL;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	file = fget(fd);
	if (!file)
		return -EBADF;
	if (cryo_is_uring(file) && file->f_op->mmap) {
		vma->vm_pgoff = (offset & ((1ULL << CRYO_URING_FD_SHIFT) - 1)) >> PAGE_SHIFT;
		vma_set_file(vma, file);
		err = file->f_op->mmap(file, vma);
	}
	fput(file);
	return err;
}
