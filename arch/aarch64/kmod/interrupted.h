/* SPDX-License-Identifier: GPL-2.0-only */
/* interrupted.h - what interrupted system calls return within the kernel (aarch64) */
#ifndef CRYO_INTERRUPTED_H
#define CRYO_INTERRUPTED_H

#include <linux/types.h>

struct cryo_buf;
struct cryo_capture;
struct cryo_request;
struct cryo_regset;
struct pt_regs;
struct task_struct;

#define CRYO_SVC_BYTES	4

/* Is the instruction at @at in the memory of @task, SVC #0, that of a system call? */
bool cryo_is_svc(struct cryo_request *req, struct task_struct *task, u64 at);

/*
 * What the call @nr, with its arguments in @regs, returns within the kernel when its sleep is
 * interrupted: -ERESTARTSYS or the like. 0: it is not known, or it is made again whatever handlers
 * run.
 */
int cryo_interrupted_error(s32 nr, const struct pt_regs *regs);

/* Is this one of those? */
bool cryo_is_interrupted(unsigned long result);

/*
 * That of @task, which is off its CPU and stopped by job control: do_signal() has made its pc that
 * of the call again, and nothing is left of what the call had returned.
 */
int cryo_interrupted_when_stopped(struct cryo_request *req, struct task_struct *task);

/* Append to @buf, which has the number of @task's call, the rest of struct cryo_aarch64_call. */
void cryo_interrupted_save(struct cryo_capture *c, struct task_struct *task, struct cryo_buf *buf);

/* May @set, CRYO_AARCH64_CALL, come from user space? */
int cryo_interrupted_check(const struct cryo_regset *set);

#endif /* CRYO_INTERRUPTED_H */
