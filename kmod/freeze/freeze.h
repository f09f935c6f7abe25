/* SPDX-License-Identifier: GPL-2.0-only */
/* freeze.h - freeze all threads of a request, and thaw them */
#ifndef CRYO_FREEZE_FREEZE_H
#define CRYO_FREEZE_FREEZE_H

#include <linux/jiffies.h>
#include <linux/types.h>

struct cryo_request;
struct task_struct;

/* Interval between two polls of state that sends no notification: 10 ms. */
#define CRYO_FREEZE_POLL_JIFFIES	max(HZ / 100, 1)

/* freeze.c: bring all threads of the processes in scope to rest, and let them go */

/**
 * cryo_freeze() - freeze all threads of a request
 * @req: the request, whose processes are claimed
 *
 * On return each is parked in a task work, is stopped by job control with that work queued, or has
 * exited. Repeats until no new threads appear. Whatever it returns, cryo_thaw() releases them.
 *
 * Return: 0 or a negative errno; the log of the request says why.
 */
int cryo_freeze(struct cryo_request *req);

/**
 * cryo_freeze_again() - freeze again the remaining processes of the scope, after a thaw
 * @req: the request
 *
 * For a snapshot that has become too large. Until the next cryo_thaw().
 *
 * Return: 0, or a negative errno: then they run.
 */
int cryo_freeze_again(struct cryo_request *req);

/**
 * cryo_thaw() - let all threads of a request go
 * @req: the request
 *
 * Also if they were never asked to park.
 */
void cryo_thaw(struct cryo_request *req);

/* pending.c */
int cryo_refuse_traced(struct cryo_request *req);
void cryo_freeze_name_pending(struct cryo_request *req);
void cryo_freeze_name_within(struct cryo_request *req);
bool cryo_freeze_stuck(struct cryo_request *req);
bool cryo_freeze_overrun(struct cryo_request *req, unsigned int threads);
bool cryo_task_on_cpu(struct task_struct *task);
int cryo_wait_off_cpu(struct cryo_request *req);

/* unsettled.c: work in progress that processes will complete by themselves */
bool cryo_freeze_unsettled(struct cryo_request *req);
bool cryo_find_answerers(struct cryo_request *req);
bool cryo_wait_until_settled(struct cryo_request *req, unsigned long limit);

#endif /* CRYO_FREEZE_FREEZE_H */
