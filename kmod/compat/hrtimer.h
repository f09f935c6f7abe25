/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/hrtimer.h: timers of several generations. */
#ifndef CRYO_COMPAT_HRTIMER_H
#define CRYO_COMPAT_HRTIMER_H

#include <linux/hrtimer.h>
#include <linux/timekeeping.h>
#include <linux/version.h>

/* The field is private since v6.15 (04257da0c99c). */
static inline void *cryo_hrtimer_function(struct hrtimer *timer)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	return ACCESS_PRIVATE(timer, function);
#else
	return timer->function;
#endif
}

/* Renamed in v6.13. */
static inline void cryo_hrtimer_sleeper_on_stack(struct hrtimer_sleeper *sleeper)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup_sleeper_on_stack(sleeper, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init_sleeper_on_stack(sleeper, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#endif
}

/* The time on the clock of a timer. */
static inline ktime_t cryo_clock_now(clockid_t clock)
{
	switch (clock) {
	case CLOCK_REALTIME:
		return ktime_get_real();
	case CLOCK_BOOTTIME:
		return ktime_get_boottime();
	case CLOCK_TAI:
		return ktime_get_clocktai();
	default:
		return ktime_get();
	}
}

static inline ktime_t cryo_hrtimer_now(const struct hrtimer *timer)
{
	return cryo_clock_now(timer->base->clockid);
}

#endif
