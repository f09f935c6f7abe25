/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * per_user.h - per-user resources that are limited or shared by a user's processes
 *
 * So that one user neither uses up what is there for all, nor keeps others waiting for a lock.
 */
#ifndef CRYO_PER_USER_H
#define CRYO_PER_USER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#define CRYO_PLACE_BUCKET_BITS	6

struct cred;

struct cryo_user {
	struct hlist_node node;
	refcount_t count;
	kuid_t uid;
	atomic_t tracks;		/* accounts of what processes have written: track.c */
	/*
	 * of freezes that were given up, with threads of his that sleep uninterruptibly, or are
	 * frozen: park.c
	 */
	atomic_t left_works;

	/* Areas of restarted processes: map_places.c */
	struct mutex join_lock;		/* one area is made at a time, that others may have, too */
	spinlock_t places_lock;		/* protects what follows */
	struct list_head buckets[1 << CRYO_PLACE_BUCKET_BITS];
	struct list_head by_age;	/* the oldest first */
	unsigned int nr_places;		/* each has a reference to this */
};

/* The user that is charged for what the caller makes. */
kuid_t cryo_payer(void);

/* The caller's, with a reference; NULL: no memory. */
struct cryo_user *cryo_user_get(void);
/* The same of the task whose credentials @cred are. */
struct cryo_user *cryo_user_of(const struct cred *cred);
void cryo_user_hold(struct cryo_user *user);
void cryo_user_put(struct cryo_user *user);

/* Any that has places, with a reference; NULL: there is none. */
struct cryo_user *cryo_user_with_places(void);

#endif
