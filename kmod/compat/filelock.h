/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/filelock.h: locks of several generations. */
#ifndef CRYO_COMPAT_FILELOCK_H
#define CRYO_COMPAT_FILELOCK_H

#include <linux/fs.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#include <linux/filelock.h>	/* split off in v6.3 5970e15dbcfe */
#endif

/* The common part of locks and leases, struct file_lock_core since v6.9 a69ce85ec9af. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
typedef struct file_lock_core cryo_lock_core;
#define cryo_for_each_lock(lock, list)	list_for_each_entry(lock, list, flc_list)
#define cryo_lock_owner(lock)		((lock)->flc_owner)
#define cryo_lock_file(lock)		((lock)->flc_file)
#define cryo_lock_type(lock)		((lock)->flc_type)
#define cryo_lock_flags(lock)		((lock)->flc_flags)
#define cryo_lock_pid(lock)		((lock)->flc_pid)
#define cryo_lock_full(lock)		container_of(lock, struct file_lock, c)
#else
typedef struct file_lock cryo_lock_core;
#define cryo_for_each_lock(lock, list)	list_for_each_entry(lock, list, fl_list)
#define cryo_lock_owner(lock)		((lock)->fl_owner)
#define cryo_lock_file(lock)		((lock)->fl_file)
#define cryo_lock_type(lock)		((lock)->fl_type)
#define cryo_lock_flags(lock)		((lock)->fl_flags)
#define cryo_lock_pid(lock)		((s32)(lock)->fl_pid)
#define cryo_lock_full(lock)		(lock)
#endif

/* locks_inode_context(), v6.2 401a8b8fd5ac. */
static inline struct file_lock_context *cryo_lock_context(struct inode *inode)
{
	/* Pairs with the cmpxchg() in locks_get_lock_context(). */
	return smp_load_acquire(&inode->i_flctx);
}

#endif
