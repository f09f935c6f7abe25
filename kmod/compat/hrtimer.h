/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/hrtimer.h: timers of several generations. */
#ifndef CRYO_COMPAT_HRTIMER_H
#define CRYO_COMPAT_HRTIMER_H

#include <linux/hrtimer.h>
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

/* The time on the timer's clock; base->get_time() up to v6.17. */
static inline ktime_t cryo_hrtimer_now(const struct hrtimer *timer)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
	return hrtimer_cb_get_time(timer);
#else
	return timer->base->get_time();
#endif
}

#define cryo_for_each_hrtimer(timer, base)					\
	for (struct timerqueue_node *__node =					\
		     rb_entry_safe(rb_first_cached(&(base)->active.rb_root),	\
				   struct timerqueue_node, node);		\
	     __node && ((timer) = container_of(__node, struct hrtimer, node), true);	\
	     __node = timerqueue_iterate_next(__node))

#endif
