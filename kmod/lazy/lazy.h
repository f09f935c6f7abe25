/* SPDX-License-Identifier: GPL-2.0-only */
/* lazy.h - memory that comes from a context when it is used first */
#ifndef CRYO_LAZY_LAZY_H
#define CRYO_LAZY_LAZY_H

#include <linux/types.h>

struct cryo_request;
struct mm_struct;

/* map_populate.c: how pages come from the context into their areas */

/**
 * cryo_map_init() - make the queues that bring pages
 *
 * Return: 0 or -ENOMEM.
 */
int cryo_map_init(void);

/**
 * cryo_map_exit() - end them
 *
 * No process has mapped memory any more.
 */
void cryo_map_exit(void);

/**
 * cryo_map_complete() - fetch what a memory lacks of the context that it came from
 * @req: the request: as long as that goes on
 * @mm: the memory, which the caller has
 *
 * Memory that was not mapped from a context lacks nothing.
 *
 * Return: 0, -ESRCH when no process has the memory any more, or another errno.
 */
int cryo_map_complete(struct cryo_request *req, struct mm_struct *mm);

#endif /* CRYO_LAZY_LAZY_H */
