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
bool cryo_is_uring(struct file *file);
bool cryo_is_poller(struct task_struct *task);
bool cryo_uring_busy(struct task_struct *task);
void cryo_check_uring(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task);

#endif /* CRYO_URING_H */
