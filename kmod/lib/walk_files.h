/* SPDX-License-Identifier: GPL-2.0-only */
/* walk_files.h - the open files of a task, some at a time: a table may have a million of them */
#ifndef CRYO_WALK_FILES_H
#define CRYO_WALK_FILES_H

#include <linux/types.h>

struct file;
struct task_struct;

struct cryo_file_walk {
	/* with files_struct.file_lock held */
	bool (*wanted)(const void *arg, struct file *file);
	const void *arg;
	unsigned int next;	/* where the next call begins */
	unsigned int end;	/* of this one */
	bool more;		/* there are some behind it */
};

/**
 * cryo_walk_files() - look at the next open files of a task
 * @walk: where it begins is where the call before has ended
 * @task: referenced by the caller, which has checked that it may be inspected
 *
 * Return: whether one of them is wanted. If not, and @walk->more, it goes on with another call,
 * between which the caller asks whether it should.
 */
bool cryo_walk_files(struct cryo_file_walk *walk, struct task_struct *task);

#endif /* CRYO_WALK_FILES_H */
