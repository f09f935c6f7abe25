/* SPDX-License-Identifier: GPL-2.0-only */
/* checkpoint.h - the order of a checkpoint */
#ifndef CRYO_CHECKPOINT_CHECKPOINT_H
#define CRYO_CHECKPOINT_CHECKPOINT_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_request;

/* handle.c: a checkpoint request and its handle */

/**
 * cryo_request_create() - CRYO_IOC_CHECKPOINT
 * @arg: the argument of that call
 *
 * Return: a descriptor, or a negative errno.
 */
long cryo_request_create(void __user *arg);

void cryo_request_resume(struct cryo_request *req);

/**
 * cryo_restarted_create() - CRYO_IOC_RESTARTED: a handle that has done all it can
 *
 * Return: a descriptor, or a negative errno.
 */
long cryo_restarted_create(void);

/* capture.c: from parked threads to a written context */

/**
 * cryo_capture() - check, collect, describe and write
 * @req: the request, parked
 *
 * All obstacles are in the log of the request before a byte is written.
 *
 * Return: 0 or a negative errno.
 */
int cryo_capture(struct cryo_request *req);

/* system.c */
int cryo_save_system(struct cryo_capture *c);

#endif /* CRYO_CHECKPOINT_CHECKPOINT_H */
