/* SPDX-License-Identifier: GPL-2.0-only */
/* uring.h - io_uring(7) */
#ifndef CRYO_URING_H
#define CRYO_URING_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_object;
struct cryo_proc;
struct file;
struct task_struct;

/* uring.c */

/**
 * cryo_is_uring() - is an open file a ring of io_uring?
 * @file: any open file
 *
 * Return: true: it is.
 */
bool cryo_is_uring(struct file *file);

/**
 * cryo_is_poller() - is a thread the poller of a ring (IORING_SETUP_SQPOLL)?
 * @task: a thread of a process
 *
 * Context: Does not sleep.
 *
 * Return: true: it is.
 */
bool cryo_is_poller(struct task_struct *task);

/**
 * cryo_uring_busy() - has a thread requests of io_uring under way, in whatever ring?
 * @task: the thread, parked or current; or a poller
 *
 * Return: true: it has.
 */
bool cryo_uring_busy(struct task_struct *task);

void cryo_check_uring(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task);

#endif /* CRYO_URING_H */
