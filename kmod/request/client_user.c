// SPDX-License-Identifier: GPL-2.0-only
/*
 * client_user.c - how many client handles each user has
 *
 * All handles are in one table, and looking for those of a process takes the longer the more there
 * are. The number of descriptors does not bound them: a user may have very many.
 */
#include <linux/capability.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include <cryo/client.h>

#include "lib/per_user.h"
#include "request/participant.h"

/* There as long as he has a handle. */
struct cryo_client_user {
	struct hlist_node node;
	kuid_t uid;
	unsigned int handles;
};

static DEFINE_SPINLOCK(client_users_lock);
static DEFINE_HASHTABLE(client_users, 6);

static struct cryo_client_user *find_client_user(kuid_t uid)
{
	struct cryo_client_user *user;

	lockdep_assert_held(&client_users_lock);
	hash_for_each_possible(client_users, user, node, __kuid_val(uid))
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

struct cryo_client_user *cryo_client_user_charge(void)
{
	struct cryo_client_user *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	struct cryo_client_user *user;
	kuid_t uid = cryo_payer();
	bool full;

	if (!fresh)
		return ERR_PTR(-ENOMEM);
	fresh->uid = uid;
	spin_lock(&client_users_lock);
	user = find_client_user(uid);
	if (!user) {
		user = fresh;
		fresh = NULL;
		hash_add(client_users, &user->node, __kuid_val(uid));
	}
	/* Charged before it is asked, so that it stays meanwhile. */
	full = user->handles++ >= CRYO_MAX_USER_CLIENTS;
	spin_unlock(&client_users_lock);
	kfree(fresh);
	if (full && !capable(CAP_SYS_RESOURCE)) {
		cryo_client_user_uncharge(user);
		return ERR_PTR(-ENOSPC);
	}
	return user;
}

void cryo_client_user_uncharge(struct cryo_client_user *user)
{
	bool last;

	if (!user)
		return;
	spin_lock(&client_users_lock);
	last = !--user->handles;
	if (last)
		hash_del(&user->node);
	spin_unlock(&client_users_lock);
	if (last)
		kfree(user);
}
