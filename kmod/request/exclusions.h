/* SPDX-License-Identifier: GPL-2.0-only */
/* exclusions.h - memory that a process has excluded by its library */
#ifndef CRYO_REQUEST_EXCLUSIONS_H
#define CRYO_REQUEST_EXCLUSIONS_H

#include <linux/types.h>

#include <cryo/client.h>

struct cryo_proc;
struct mm_struct;

struct cryo_exclusions {
	struct mm_struct *mm;		/* whose addresses these are; kept from being reused */
	u32 nr;
	struct cryo_client_range ranges[];
};

/* exclusions.c: ranges of memory of which a process does not need the contents */

/**
 * cryo_exclusions_copy() - what CRYO_CLIENT_EXCLUDE says about the memory of the caller
 * @arg: the argument of that call
 *
 * Checked: ranges that ascend and do not overlap, CRYO_MAX_EXCLUDED at most.
 *
 * Context: May sleep.
 *
 * Return: the ranges, for cryo_exclusions_free(), or an ERR_PTR.
 */
struct cryo_exclusions *cryo_exclusions_copy(void __user *arg);

/**
 * cryo_exclusions_free() - free what cryo_exclusions_copy() has returned
 * @x: the ranges; NULL is fine
 *
 * Context: Not under a spinlock.
 */
void cryo_exclusions_free(struct cryo_exclusions *x);

/**
 * cryo_exclusions_find() - the first range that has a part of some memory
 * @p: whose memory
 * @start: the first byte
 * @end: behind the last byte
 *
 * Return: NULL: none has.
 */
const struct cryo_client_range *cryo_exclusions_find(const struct cryo_proc *p, u64 start, u64 end);

#endif /* CRYO_REQUEST_EXCLUSIONS_H */
