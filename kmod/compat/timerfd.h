/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fs/timerfd.c: fdinfo shows 0 as the remaining time of a timer that is overdue, and so hides when
 * it expired. The timer itself is the first member of the private structure since v3.17
 * (11ffa9d6065f).
 */
#ifndef CRYO_COMPAT_TIMERFD_H
#define CRYO_COMPAT_TIMERFD_H

#include <linux/alarmtimer.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/time.h>

union cryo_timerfd_ctx {
	struct hrtimer timer;
	struct alarm alarm;
};

static inline bool cryo_is_alarm_clock(int clockid)
{
	return clockid == CLOCK_REALTIME_ALARM || clockid == CLOCK_BOOTTIME_ALARM;
}

static inline bool cryo_timerfd_active(struct file *file, int clockid)
{
	const union cryo_timerfd_ctx *ctx = file->private_data;

	if (cryo_is_alarm_clock(clockid))
		return ctx->alarm.state & ALARMTIMER_STATE_ENQUEUED;
	return hrtimer_active(file->private_data);
}

/* Negative when it is overdue. */
static inline s64 cryo_timerfd_remaining(struct file *file, int clockid)
{
	if (cryo_is_alarm_clock(clockid))
		return ktime_to_ns(alarm_expires_remaining(file->private_data));
	return ktime_to_ns(hrtimer_get_remaining(file->private_data));
}

#endif
