/* SPDX-License-Identifier: GPL-2.0-only */
/* shadow_stack.h - which memory is a shadow stack */
#ifndef CRYO_LIB_SHADOW_STACK_H
#define CRYO_LIB_SHADOW_STACK_H

#include <linux/types.h>

struct task_struct;

/* shadow_stack.c: which memory is a shadow stack */

/**
 * cryo_check_shadow_stack() - is a range of a thread's memory nothing but shadow stacks?
 * @task: the thread, parked; may be killed meanwhile
 * @start: address of the range
 * @size: its size in bytes
 *
 * Parts of it in which nothing is mapped are accepted.
 *
 * Context: In the coordinator, with cryo_rst_group.lock. Waits for mmap_lock of @task, killably and
 * for a second at most, as another thread of that process may hold it while it waits for a page.
 *
 * Return: 0: it is; -EACCES: it is not; -EINVAL: not a range of whole pages of user memory; -ESRCH:
 * @task has no memory any more; -EINTR: the caller is killed; -ETIMEDOUT.
 */
int cryo_check_shadow_stack(struct task_struct *task, u64 start, u64 size);

/**
 * cryo_shadow_stack_range() - can a range be a shadow stack, by its numbers?
 * @start: its address
 * @size: its size in bytes
 *
 * Return: true: it is not empty, and consists of whole pages of user memory.
 */
bool cryo_shadow_stack_range(u64 start, u64 size);

#endif /* CRYO_LIB_SHADOW_STACK_H */
