/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * linux/posix-timers.h: timers made by timer_create(2), and the signals that they have queued.
 *
 * v6.13 (6017a158beb1) put the signal's queue entry into the timer and made signals of timers that
 * were deleted or set again void; timers whose signal is ignored are kept in a list since
 * (df7a996b4dab).
 */
#ifndef CRYO_COMPAT_POSIX_TIMERS_H
#define CRYO_COMPAT_POSIX_TIMERS_H

#include <linux/poison.h>
#include <linux/posix-timers.h>
#include <linux/sched/signal.h>
#include <linux/signal_types.h>
#include <linux/version.h>

/*
 * With siglock: the timer that comes after @last, which is in the list, or the first one; NULL:
 * there is no more. A hash list since v6.11 (aca1dc0ce117).
 */
static inline struct k_itimer *cryo_posix_timer_after(struct signal_struct *sig,
						      struct k_itimer *last)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	return hlist_entry_safe(last ? last->list.next : sig->posix_timers.first,
				struct k_itimer, list);
#else
	struct list_head *next = last ? last->list.next : sig->posix_timers.next;

	return next == &sig->posix_timers ? NULL : list_entry(next, struct k_itimer, list);
#endif
}

/*
 * With siglock, of one that has been in the list since rcu_read_lock(): is it still, or has another
 * thread deleted it?
 */
static inline bool cryo_posix_timer_is_listed(const struct k_itimer *timer)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	return timer->list.pprev && timer->list.pprev != LIST_POISON2;
#else
	return timer->list.next != LIST_POISON1;
#endif
}

/* With siglock. */
static inline bool cryo_has_posix_timers(struct signal_struct *sig)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	return !hlist_empty(&sig->posix_timers);
#else
	return !list_empty(&sig->posix_timers);
#endif
}

/* The id that is tried first by the next timer_create(): an atomic_t since v6.15 (feb864ee99a2). */
static inline u32 cryo_next_timer_id(struct signal_struct *sig)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	return atomic_read(&sig->next_posix_timer_id);
#else
	return READ_ONCE(sig->next_posix_timer_id);
#endif
}

static inline void cryo_set_next_timer_id(struct signal_struct *sig, u32 id)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	atomic_set(&sig->next_posix_timer_id, id);
#else
	WRITE_ONCE(sig->next_posix_timer_id, id);
#endif
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)

static inline struct sigqueue *cryo_timer_sigqueue(struct k_itimer *timer)
{
	return &timer->sigq;
}

/* Expired, and waits for its signal to be no longer ignored. */
static inline bool cryo_timer_ignored(struct k_itimer *timer)
{
	return !hlist_unhashed(&timer->ignored_list);
}

/* Is @q a timer's signal that will not be delivered? With siglock held. */
static inline bool cryo_sigqueue_void(struct sigqueue *q)
{
	struct k_itimer *timer;

	if (!(q->flags & SIGQUEUE_PREALLOC))
		return false;
	timer = container_of(q, struct k_itimer, sigq);
	return !READ_ONCE(timer->it_signal) ||
	       READ_ONCE(timer->it_signal_seq) != READ_ONCE(timer->it_sigqueue_seq);
}

#else

static inline struct sigqueue *cryo_timer_sigqueue(struct k_itimer *timer)
{
	return timer->sigq;
}

static inline bool cryo_timer_ignored(struct k_itimer *timer)
{
	return false;
}

static inline bool cryo_sigqueue_void(struct sigqueue *q)
{
	return false;
}

#endif

#endif
