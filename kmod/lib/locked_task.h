/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * locked_task.h - state that a killed thread releases before it waits for those that inspect it
 *
 * Parked threads keep all they have until the look is over (park_exit_killed()). One that job
 * control or a tracer has stopped only has that work queued, and on its way out gives up its
 * memory, its semaphore adjustments, descriptors, directories and namespaces first. It takes
 * task_lock() for each of these, or for its memory before: with that lock they are there as long as
 * the pointers say so.
 *
 * Others' nsproxy and adjustments are got at by these functions only (tests/lint/sources);
 * task->mm, ->files and ->fs are followed with the same lock.
 */
#ifndef CRYO_LOCKED_TASK_H
#define CRYO_LOCKED_TASK_H

#include <linux/lockdep.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include "compat/ipc.h"

/* With task_lock(). NULL: it has given them up. */
static inline struct nsproxy *cryo_nsproxy_of(struct task_struct *task)
{
	lockdep_assert_held(&task->alloc_lock);
	return task->nsproxy;
}

/*
 * With task_lock(). NULL: it has none, or has given up its memory, after which no lock keeps them.
 */
static inline struct cryo_undo_list *cryo_semundo_of(struct task_struct *task)
{
	lockdep_assert_held(&task->alloc_lock);
	return task->mm ? cryo_semundo(task) : NULL;
}

/* Would @task undo anything? */
static inline bool cryo_has_undo(struct task_struct *task)
{
	struct cryo_undo_list *list;
	bool has;

	task_lock(task);
	list = cryo_semundo_of(task);
	has = list && !list_empty(&list->list_proc);
	task_unlock(task);
	return has;
}

/* To be compared, and never followed. */
static inline const void *cryo_semundo_key(struct task_struct *task)
{
	return cryo_semundo(task);
}

#endif /* CRYO_LOCKED_TASK_H */
