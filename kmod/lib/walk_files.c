// SPDX-License-Identifier: GPL-2.0-only
/* walk_files.c - the open files of a task, some at a time: see walk_files.h */
#include <linux/fdtable.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include "lib/walk_files.h"

#define FILES_BATCH	4096	/* descriptors looked at with the locks held */

/* With files->file_lock. */
static int is_wanted_file(const void *data, struct file *file, unsigned int fd)
{
	struct cryo_file_walk *walk = (struct cryo_file_walk *)data;

	if (fd >= walk->end) {
		walk->more = true;
		walk->next = fd;
		return 1;
	}
	return walk->wanted(walk->arg, file);
}

bool cryo_walk_files(struct cryo_file_walk *walk, struct task_struct *task)
{
	unsigned int start = walk->next;
	bool found = false;

	walk->end = start + FILES_BATCH;
	walk->more = false;
	task_lock(task);
	if (task->files)
		found = iterate_fd(task->files, start, is_wanted_file, walk);
	task_unlock(task);
	cond_resched();
	return found && !walk->more;
}
