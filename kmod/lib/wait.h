/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wait.h - waits of requesters and coordinators: killable, and freezable, since the tasks that they
 * wait for may be frozen first on suspend
 */
#ifndef CRYO_WAIT_H
#define CRYO_WAIT_H

#include <linux/freezer.h>
#include <linux/sched.h>
#include <linux/wait.h>

/*
 * "Unsafe", as the lock of the request is held; a waiter for that one is freezable, too
 * (cryo_request_lock()).
 */
#define CRYO_WAIT_STATE	(TASK_KILLABLE | TASK_FREEZABLE_UNSAFE)

/* As wait_event_killable_timeout(). */
#define cryo_wait_event_timeout(wq, condition, timeout)				\
	___wait_event(wq, ___wait_cond_timeout(condition), CRYO_WAIT_STATE, 0,	\
		      timeout, __ret = schedule_timeout(__ret))

/* As schedule_timeout_killable(). */
static inline long cryo_sleep(long timeout)
{
	set_current_state(CRYO_WAIT_STATE);
	return schedule_timeout(timeout);
}

#endif /* CRYO_WAIT_H */
