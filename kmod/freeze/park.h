/* SPDX-License-Identifier: GPL-2.0-only */
/* park.h - the interface for parking one thread, for freeze.c */
#ifndef CRYO_FREEZE_PARK_H
#define CRYO_FREEZE_PARK_H

#include <linux/types.h>

#include "request/request.h"

struct task_struct;

/**
 * cryo_parked_put() - give a reference back
 * @p: the record, which goes with the last one, and with it its references to the task and the
 *	request
 */
void cryo_parked_put(struct cryo_parked *p);

/* With cryo_request.park_lock; cryo_settle_parked() takes it, and wakes the requester. */
void cryo_set_park_state(struct cryo_parked *p, enum cryo_park_state state);
void cryo_settle_parked(struct cryo_parked *p, enum cryo_park_state state);

/*
 * Is it a vfork() child, for which its parent waits? @named: whether it belongs to the process
 * named by the caller, and is to be parked all the same.
 */
bool cryo_is_vfork_child(struct task_struct *task, bool named);

/**
 * cryo_park_request() - queue the work that parks a thread
 * @p: its record, in state GONE; takes a reference for the work
 *
 * Its state is ASKED afterwards, PARKED of the requester's own thread, or GONE if it is exiting.
 */
void cryo_park_request(struct cryo_parked *p);

/**
 * cryo_park_cancel() - stop waiting for a thread to park
 * @p: its record
 *
 * Its work is cancelled, or left queued where cancelling would cut a system call short.
 */
void cryo_park_cancel(struct cryo_parked *p);

#endif /* CRYO_FREEZE_PARK_H */
