// SPDX-License-Identifier: GPL-2.0-only
/*
 * per_user.c - one record for each user who has something that is counted for him
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "lib/per_user.h"

static DEFINE_HASHTABLE(users, 6);
static DEFINE_SPINLOCK(users_lock);

/*
 * Who is in user namespaces of his own has as many ids as he wants there: it is their maker who
 * counts.
 */
static kuid_t payer_of(const struct cred *cred)
{
	struct user_namespace *ns = cred->user_ns;
	kuid_t uid = cred->uid;

	for (; ns->parent; ns = ns->parent)
		uid = ns->owner;
	return uid;
}

kuid_t cryo_payer(void)
{
	return payer_of(current_cred());
}

static struct cryo_user *find_record(kuid_t uid)
{
	struct cryo_user *user;

	lockdep_assert_held(&users_lock);
	hash_for_each_possible(users, user, node, __kuid_val(uid))
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

static struct cryo_user *alloc_user(kuid_t uid)
{
	struct cryo_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	unsigned int i;

	if (!user)
		return NULL;
	refcount_set(&user->count, 1);
	user->uid = uid;
	mutex_init(&user->join_lock);
	spin_lock_init(&user->places_lock);
	for (i = 0; i < ARRAY_SIZE(user->buckets); i++)
		INIT_LIST_HEAD(&user->buckets[i]);
	INIT_LIST_HEAD(&user->by_age);
	return user;
}

struct cryo_user *cryo_user_of(const struct cred *cred)
{
	kuid_t uid = payer_of(cred);
	struct cryo_user *user, *made = NULL;

	for (;;) {
		spin_lock(&users_lock);
		user = find_record(uid);
		if (user) {
			refcount_inc(&user->count);
		} else if (made) {
			hash_add(users, &made->node, __kuid_val(uid));
			swap(user, made);
		}
		spin_unlock(&users_lock);
		if (user)
			break;
		made = alloc_user(uid);
		if (!made)
			return NULL;
	}
	kfree(made);
	return user;
}

struct cryo_user *cryo_user_get(void)
{
	return cryo_user_of(current_cred());
}

void cryo_user_hold(struct cryo_user *user)
{
	refcount_inc(&user->count);
}

void cryo_user_put(struct cryo_user *user)
{
	bool last;

	if (!user || refcount_dec_not_one(&user->count))
		return;
	spin_lock(&users_lock);
	last = refcount_dec_and_test(&user->count);
	if (last)
		hash_del(&user->node);
	spin_unlock(&users_lock);
	if (last)
		kfree(user);
}

struct cryo_user *cryo_user_with_places(void)
{
	struct cryo_user *user, *found = NULL;
	unsigned int i;

	spin_lock(&users_lock);
	hash_for_each(users, i, user, node)
		if (!found && READ_ONCE(user->nr_places)) {
			refcount_inc(&user->count);
			found = user;
		}
	spin_unlock(&users_lock);
	return found;
}
