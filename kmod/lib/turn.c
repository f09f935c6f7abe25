// SPDX-License-Identifier: GPL-2.0-only
/* turn.c - numbers that one user at a time chooses: see turn.h */
#include <linux/delay.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/uidgid.h>

#include "lib/per_user.h"
#include "lib/turn.h"

/* a writer may have to wait 4 ms for a semaphore that readers take before it */
#define TURN_NS		(20 * NSEC_PER_MSEC)
#define SET_NS		(50 * NSEC_PER_MSEC)	/* likewise, before the number has been set */
#define PATIENCE_NS	NSEC_PER_SEC
#define LOOK_US		50
/* longer than a slice of whoever has the processor */
#define STALE_NS	(10 * NSEC_PER_MSEC)

struct cryo_waiter {
	struct list_head node;
	kuid_t user;
	u64 looked;		/* when it was here last */
};

/* Things whose addresses are hashed to the same place wait for each other, which does no harm. */
static struct cryo_turn {
	const void *what;
	kuid_t user;
	/* the user has set his number: until then what is there is of the one before */
	bool set;
	u64 end;		/* ktime_get_ns(); in the past: nobody's turn */
	struct list_head waiters;
} turns[16];

static DEFINE_SPINLOCK(turns_lock);

static struct cryo_turn *turn_of(const void *what)
{
	struct cryo_turn *t = &turns[hash_ptr(what, ilog2(ARRAY_SIZE(turns)))];

	lockdep_assert_held(&turns_lock);
	if (!t->waiters.next)
		INIT_LIST_HEAD(&t->waiters);
	return t;
}

static bool is_others(struct cryo_turn *t, const void *what, bool (*used)(const void *what),
		      kuid_t user)
{
	lockdep_assert_held(&turns_lock);
	return ktime_get_ns() < t->end && !uid_eq(t->user, user) &&
	       (t->what != what || !t->set || !used(what));
}

static bool user_waits(const struct cryo_turn *t, kuid_t user)
{
	const struct cryo_waiter *w;

	lockdep_assert_held(&turns_lock);
	list_for_each_entry(w, &t->waiters, node)
		if (uid_eq(w->user, user))
			return true;
	return false;
}

/* Whoever does not get a processor does not keep others waiting; it comes again at the end. */
static void drop_stale(struct cryo_turn *t, const struct cryo_waiter *own)
{
	struct cryo_waiter *w, *next;

	lockdep_assert_held(&turns_lock);
	list_for_each_entry_safe(w, next, &t->waiters, node) {
		if (w == own || w->looked + STALE_NS > own->looked)
			break;
		list_del_init(&w->node);
	}
}

/* Whether it is the turn of @w; it is in the list or not, as it was its user's first or not. */
static bool try_begin(struct cryo_waiter *w, const void *what, bool (*used)(const void *what),
		      bool in_vain)
{
	struct cryo_turn *t;
	bool may;

	spin_lock(&turns_lock);
	t = turn_of(what);
	w->looked = ktime_get_ns();
	drop_stale(t, w);
	if (list_empty(&w->node) && !user_waits(t, w->user))
		list_add_tail(&w->node, &t->waiters);
	may = !list_empty(&w->node) && list_is_first(&w->node, &t->waiters) &&
	      !is_others(t, what, used, w->user);
	if (may) {
		t->what = what;
		t->user = w->user;
		t->set = false;
		t->end = ktime_get_ns() + SET_NS;
	}
	if (may || in_vain)
		list_del_init(&w->node);
	spin_unlock(&turns_lock);
	return may;
}

int cryo_turn_begin(const void *what, bool (*used)(const void *what))
{
	struct cryo_waiter w = { .user = cryo_payer() };
	u64 limit = ktime_get_ns() + PATIENCE_NS;
	bool in_vain = false;

	INIT_LIST_HEAD(&w.node);
	while (!try_begin(&w, what, used, in_vain)) {
		if (in_vain)
			return fatal_signal_pending(current) ? -EINTR : 0;
		usleep_range(LOOK_US, 2 * LOOK_US);
		in_vain = fatal_signal_pending(current) || ktime_get_ns() > limit;
	}
	return 0;
}

void cryo_turn_set(const void *what)
{
	kuid_t user = cryo_payer();
	struct cryo_turn *t;

	spin_lock(&turns_lock);
	t = turn_of(what);
	/*
	 * Not of one that has begun meanwhile: this one was in vain, or took too long. Once in a
	 * turn: of those who go on in vain a user can have as many as he has threads, and they are
	 * not to make it longer.
	 */
	if (t->what == what && uid_eq(t->user, user) && !t->set) {
		t->set = true;
		t->end = ktime_get_ns() + TURN_NS;
	}
	spin_unlock(&turns_lock);
}

bool cryo_turn_end(const void *what, bool (*used)(const void *what))
{
	kuid_t user = cryo_payer();
	struct cryo_turn *t;
	bool others;

	spin_lock(&turns_lock);
	t = turn_of(what);
	others = t->what == what && is_others(t, what, used, user);
	if (t->what == what && uid_eq(t->user, user))
		t->end = 0;
	spin_unlock(&turns_lock);
	return !others;
}
