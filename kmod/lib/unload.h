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

void cryo_unload_get(void);
void cryo_unload_put(void);
void cryo_unload_wait(void);
atomic_t *cryo_unload_works(void);

#endif
