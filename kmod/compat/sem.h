/* SPDX-License-Identifier: GPL-2.0-only */
/* ipc/sem.c: what a task would undo when it exits. */
#ifndef CRYO_COMPAT_SEM_H
#define CRYO_COMPAT_SEM_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sem.h>
#include <linux/spinlock.h>

/*
 * Every process with threads has a list (CLONE_SYSVSEM); it is an obstacle when something
 * is in it.  The structure is private, and has been this since v2.6.26.
 */
static inline bool cryo_has_semundo(struct task_struct *task)
{
#ifdef CONFIG_SYSVIPC
	const struct {
		refcount_t refcnt;
		spinlock_t lock;
		struct list_head list_proc;
	} *undo = (const void *)task->sysvsem.undo_list;

	return undo && !list_empty(&undo->list_proc);
#else
	return false;
#endif
}

#endif
