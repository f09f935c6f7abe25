/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unload.h - the module's text stays while a task work of it is queued or runs
 *
 * A task work cannot drop a module reference itself: the reference would be gone
 * before the function has returned.  So works are counted, and the module's exit
 * waits for the count and then until every task has left the text.
 */
#ifndef CRYO_UNLOAD_H
#define CRYO_UNLOAD_H

#include <linux/types.h>

/**
 * cryo_unload_get() - keep the module's text for a task work that is being queued, or a timed wait
 *	that is continued
 */
void cryo_unload_get(void);

/**
 * cryo_unload_put() - one work less for which the text stays
 *
 * Context: The last action in the function of the work; or when it could not be queued, or has been
 * cancelled.
 */
void cryo_unload_put(void);

/**
 * cryo_unload_wait() - wait until no work is left, and all tasks have left the module's text
 *
 * Context: In the module's exit, when no handle is open, so that no new work is queued. Sleeps,
 * uninterruptibly.
 */
void cryo_unload_wait(void);

atomic_t *cryo_unload_works(void);

#endif
