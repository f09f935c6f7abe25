/* SPDX-License-Identifier: GPL-2.0-only */
/* walk_files.h - the open files of a task, some at a time: a table may have a million of them */
#ifndef CRYO_WALK_FILES_H
#define CRYO_WALK_FILES_H

#include <linux/types.h>

struct file;
struct task_struct;

struct cryo_file_walk {
	/* With files_struct.file_lock held. */
	bool (*wanted)(const void *arg, struct file *file);
	const void *arg;
	unsigned int next;	/* where the next call begins */
	unsigned int end;	/* of this one */
	bool more;		/* there are some behind it */
};

/**
 * cryo_walk_files() - examine the next open files of a task, a bounded number in each call
 * @walk: the walk; begins where the call before has ended
 * @task: referenced by the caller, who has checked that the requester may inspect it
 *
 * To be called again while nothing is found and @walk->more is set; between two calls the caller
 * checks that it is not interrupted.
 *
 * Context: Takes task_lock(), and files_struct.file_lock in it; has dropped both before it may
 * sleep.
 *
 * Return: true: one of them is wanted.
 */
bool cryo_walk_files(struct cryo_file_walk *walk, struct task_struct *task);

#endif /* CRYO_WALK_FILES_H */
