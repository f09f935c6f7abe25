/* SPDX-License-Identifier: GPL-2.0-only */
/* read_memory.h - a few bytes of a parked process's memory */
#ifndef CRYO_CAPTURE_READ_MEMORY_H
#define CRYO_CAPTURE_READ_MEMORY_H

#include <linux/types.h>

struct cryo_request;
struct task_struct;

/* read_memory.c */

/**
 * cryo_read_memory() - a few bytes of the memory of a thread
 * @req: the request, for its time limit
 * @task: @current, or one that is parked
 * @addr: where
 * @to: gets them
 * @size: how many
 *
 * Return: 0, -EFAULT also for what a server would have to be asked for, -ESRCH when it was killed
 * meanwhile, or another errno.
 */
int cryo_read_memory(struct cryo_request *req, struct task_struct *task, unsigned long addr,
		     void *to, int size);

#endif /* CRYO_CAPTURE_READ_MEMORY_H */
