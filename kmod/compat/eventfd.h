/* SPDX-License-Identifier: GPL-2.0-only */
/* fs/eventfd.c: fdinfo shows "eventfd-semaphore" since v6.5 33d8b5d78264. */
#ifndef CRYO_COMPAT_EVENTFD_H
#define CRYO_COMPAT_EVENTFD_H

#include <linux/eventfd.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/version.h>
#include <linux/wait.h>

/* The private structure as it was from v5.2 to v6.4, the last kernels that need this. */
struct cryo_eventfd_ctx {
	struct kref kref;
	wait_queue_head_t wqh;
	__u64 count;
	unsigned int flags;
};

static inline bool cryo_eventfd_semaphore(struct file *file)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	const struct cryo_eventfd_ctx *ctx = file->private_data;

	return ctx->flags & EFD_SEMAPHORE;
#else
	return false;
#endif
}

#endif
