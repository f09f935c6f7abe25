/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/hrtimer.h: timers of several generations. */
#ifndef CRYO_COMPAT_HRTIMER_H
#define CRYO_COMPAT_HRTIMER_H

#include <linux/hrtimer.h>
#include <linux/timekeeping.h>
#include <linux/timerqueue.h>
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

/* The time on the timer's clock. */
static inline ktime_t cryo_hrtimer_now(const struct hrtimer *timer)
{
	switch (timer->base->clockid) {
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

/* A tree of linked nodes since v7.1 or so. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define cryo_for_each_hrtimer(timer, base)						\
	for (struct timerqueue_linked_node *__node =					\
		     timerqueue_linked_first(&(base)->active);				\
	     __node && ((timer) = container_of(__node, struct hrtimer, node), true);	\
	     __node = timerqueue_linked_next(__node))
#else
#define cryo_for_each_hrtimer(timer, base)						\
	for (struct timerqueue_node *__node = timerqueue_getnext(&(base)->active);	\
	     __node && ((timer) = container_of(__node, struct hrtimer, node), true);	\
	     __node = timerqueue_iterate_next(__node))
#endif

#endif
