/* SPDX-License-Identifier: GPL-2.0-only */
/* optional.h - task state that exists only in kernels configured for it */
#ifndef CRYO_LIB_OPTIONAL_H
#define CRYO_LIB_OPTIONAL_H

#include <linux/types.h>

struct task_struct;

/* optional.c: task state that exists only in kernels configured for it */

/**
 * cryo_task_syscall_dispatch() - does a thread have syscall user dispatch
 *	(PR_SET_SYSCALL_USER_DISPATCH)?
 * @task: a thread, parked
 *
 * Return: true: it has; false: it has not, or the kernel is built without.
 */
bool cryo_task_syscall_dispatch(struct task_struct *task);

/**
 * cryo_same_creds() - are the credentials of two threads the same in content?
 * @a: a thread
 * @b: another one
 *
 * Threads usually have a struct cred each after a set*id(). Compared are user and group ids,
 * supplementary groups, securebits, user namespace, and all sets of capabilities.
 *
 * Return: true: they are.
 */
bool cryo_same_creds(struct task_struct *a, struct task_struct *b);

#endif /* CRYO_LIB_OPTIONAL_H */
