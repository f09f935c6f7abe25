// SPDX-License-Identifier: GPL-2.0-only
/*
 * map_places.c - who has which area of which context, and one reverse map for all who have the same
 *
 * A process is remembered as a struct pid, and its area as addresses: nothing of it is kept by
 * that, and what is found there later is looked at anew.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/rmap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/userfaultfd_k.h>

#include <cryo/ioctl.h>

#include "access/switches.h"
#include "compat/ksym.h"
#include "compat/mm.h"
#include "cryo_arch.h"
#include "lazy/map.h"
#include "lib/point.h"

/* ---- who has which area of which context ---- */

#define MAX_PLACES	4096	/* of the processes of a user; the oldest are forgotten */
#define MOST_LOOKS	4096U	/* for something that it would be good to know */

/* An area of a process that was restarted: its key, and who has it. */
struct map_place {
	struct list_head node;		/* of its bucket, the oldest first */
	struct list_head by_age;
	struct cryo_map_key key;
	struct pid *pid;		/* counted */
	struct cryo_map_mm *coming;	/* in its background pages come; to be compared only */
	/* as of struct cryo_map_mm: one order for all areas, so that none wait for each other */
	u64 number;
};

static struct list_head *bucket_of(struct cryo_user *user, const struct cryo_map_key *key)
{
	u32 i = hash_64(key->ino ^ key->offset ^ key->start, CRYO_PLACE_BUCKET_BITS);

	lockdep_assert_held(&user->places_lock);
	return &user->buckets[i];
}

static bool is_same(const struct cryo_map_key *a, const struct cryo_map_key *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->offset == b->offset &&
	       a->start == b->start && a->base == b->base && a->bits == b->bits &&
	       uid_eq(a->uid, b->uid);
}

/* The caller has a reference to @user of his own. */
static void remove_place(struct cryo_user *user, struct map_place *place)
{
	lockdep_assert_held(&user->places_lock);
	list_del(&place->node);
	list_del(&place->by_age);
	user->nr_places--;
	put_pid(place->pid);
	kfree(place);
	cryo_user_put(user);
}

static bool is_gone(struct pid *pid)
{
	bool gone;

	rcu_read_lock();
	gone = !pid_task(pid, PIDTYPE_TGID);
	rcu_read_unlock();
	return gone;
}

/*
 * Into @peers (CRYO_MAP_PEERS): of those who have the same area as @map, others than it, the oldest
 * ones; each counted. Returns how many. Forgets who has gone.
 */
unsigned int cryo_map_find_peers(struct cryo_map_mm *map, const struct cryo_map_key *key,
				 struct pid **peers)
{
	struct cryo_user *user = map->user;
	struct map_place *place, *next;
	unsigned int n = 0;

	spin_lock(&user->places_lock);
	list_for_each_entry_safe(place, next, bucket_of(user, key), node) {
		if (!is_same(&place->key, key) || place->pid == map->owner)
			continue;
		if (is_gone(place->pid))
			remove_place(user, place);
		else if (n < CRYO_MAP_PEERS)
			peers[n++] = get_pid(place->pid);
	}
	spin_unlock(&user->places_lock);
	return n;
}

static void forget_place(struct cryo_user *user, struct pid *pid, const struct cryo_map_key *key)
{
	struct map_place *place, *next;

	spin_lock(&user->places_lock);
	list_for_each_entry_safe(place, next, bucket_of(user, key), node)
		if (place->pid == pid && is_same(&place->key, key))
			remove_place(user, place);
	spin_unlock(&user->places_lock);
}

void cryo_map_put_peers(struct pid **peers, unsigned int n)
{
	while (n--)
		put_pid(peers[n]);
}

/* Does another memory have the same area? */
bool cryo_map_has_peers(struct cryo_map_mm *map, struct cryo_map_table *t)
{
	struct cryo_user *user = map->user;
	struct map_place *place;
	bool found = false;

	if (!cryo_has(CRYO_FEATURE_SHARE))
		return false;
	spin_lock(&user->places_lock);
	list_for_each_entry(place, bucket_of(user, &t->key), node)
		if (is_same(&place->key, &t->key) && place->pid != map->owner) {
			found = true;
			break;
		}
	spin_unlock(&user->places_lock);
	return found;
}

/* The caller has the area from now on. When there is no memory for that, others do not know. */
void cryo_map_note_place(struct cryo_map_mm *map, struct cryo_map_table *t)
{
	struct cryo_user *user = map->user;
	struct map_place *place;

	if (!cryo_has(CRYO_FEATURE_SHARE))
		return;
	place = kzalloc(sizeof(*place), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!place)
		return;
	place->key = t->key;
	place->pid = get_pid(map->owner);
	place->number = map->number;
	cryo_user_hold(user);
	spin_lock(&user->places_lock);
	if (user->nr_places >= cryo_few(places, MAX_PLACES))
		remove_place(user, list_first_entry(&user->by_age, struct map_place, by_age));
	list_add_tail(&place->node, bucket_of(user, &t->key));
	list_add_tail(&place->by_age, &user->by_age);
	user->nr_places++;
	spin_unlock(&user->places_lock);
}

/* Pages of @map begin or cease to come in the background. */
void cryo_map_note_coming(struct cryo_map_mm *map, bool coming)
{
	struct cryo_user *user = map->user;
	struct map_place *place;

	spin_lock(&user->places_lock);
	list_for_each_entry(place, &user->by_age, by_age) {
		if (!coming && place->coming == map)
			place->coming = NULL;
		else if (coming && place->pid == map->owner)
			place->coming = map;
	}
	spin_unlock(&user->places_lock);
}

static bool comes_elsewhere(struct cryo_map_mm *map, const struct cryo_map_key *key,
			    unsigned int *looks)
{
	struct map_place *place;

	list_for_each_entry(place, bucket_of(map->user, key), node) {
		if (place->coming && place->number < map->number && is_same(&place->key, key) &&
		    !is_gone(place->pid))
			return true;
		if (!--*looks)
			return false;
	}
	return false;
}

/*
 * Are pages that @map is waiting for just coming into the memory of one who was there before? As
 * far as a short look tells.
 */
bool cryo_map_comes_elsewhere(struct cryo_map_mm *map)
{
	unsigned int looks = MOST_LOOKS;
	struct cryo_map_vma *v;
	bool found = false;

	if (!cryo_has(CRYO_FEATURE_SHARE))
		return false;
	spin_lock(&map->lock);
	spin_lock(&map->user->places_lock);
	list_for_each_entry(v, &map->vmas, node) {
		found = comes_elsewhere(map, &v->table->key, &looks);
		if (found || looks <= 1)
			break;
		looks--;
	}
	spin_unlock(&map->user->places_lock);
	spin_unlock(&map->lock);
	return found;
}

/* There are no other users any more. */
void cryo_map_places_exit(void)
{
	struct map_place *place, *next;
	struct cryo_user *user;

	while ((user = cryo_user_with_places())) {
		spin_lock(&user->places_lock);
		list_for_each_entry_safe(place, next, &user->by_age, by_age)
			remove_place(user, place);
		spin_unlock(&user->places_lock);
		cryo_user_put(user);
	}
}

/* What tells the area of @t from all others; @base: its vm_pgoff. */
void cryo_map_key_set(struct cryo_map_table *t, unsigned long start, unsigned long base)
{
	struct cryo_map_table_run *run = &t->runs[0];
	struct inode *inode = file_inode(t->sources[t->chunks[run->chunk].file]->file);

	t->key = (struct cryo_map_key){
		.dev = inode->i_sb->s_dev,
		.ino = inode->i_ino,
		.uid = current_uid(),
		.offset = run->offset,
		.start = start,
		.base = base,
		.bits = t->bits,
	};
}

struct mm_struct *cryo_map_memory_of(struct pid *pid)
{
	struct task_struct *task = get_pid_task(pid, PIDTYPE_TGID);
	struct mm_struct *mm;

	if (!task)
		return NULL;
	mm = get_task_mm(task);
	put_task_struct(task);
	return mm;
}

/* ---- one anon_vma for all ---- */

#define JOIN_TRIES	1000
#define JOIN_WAIT_US	50

/* Other restarts of the user's do not wait for one that waits for a lock of its own memory. */
static bool begin_to_join(struct cryo_user *user)
{
	unsigned int i;

	for (i = 0; i < JOIN_TRIES && !fatal_signal_pending(current); i++) {
		if (mutex_trylock(&user->join_lock))
			return true;
		usleep_range(JOIN_WAIT_US, 2 * JOIN_WAIT_US);
	}
	return false;
}

/* Another memory's lock is held, which others may want. */
static bool lock_own(struct mm_struct *mm)
{
	unsigned int i;

	for (i = 0; i < JOIN_TRIES && !fatal_signal_pending(current); i++) {
		if (cryo_mmap_write_trylock(mm))
			return true;
		usleep_range(JOIN_WAIT_US, 2 * JOIN_WAIT_US);
	}
	return false;
}

/*
 * Is @addr of @vma what it was when the area was made, so that the reverse map finds a page of it
 * by the same number?
 */
bool cryo_map_is_in_place(struct vm_area_struct *vma, unsigned long addr, unsigned long pgoff)
{
	return vma->anon_vma && vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT) == pgoff &&
	       (cryo_map_is_ours(vma) || vma_is_anonymous(vma)) &&
	       !(vma->vm_flags & (VM_LOCKED | VM_SHARED | VM_HUGETLB | VM_SPECIAL)) &&
	       !userfaultfd_armed(vma);
}

/*
 * Can an area that is to begin at @key get the anon_vma of @mm's there? One that a fork has made
 * has its parents', too.
 */
static bool is_joinable(struct mm_struct *mm, const struct cryo_map_key *key)
{
	struct vm_area_struct *vma = vma_lookup(mm, key->start);

	return vma && cryo_map_is_in_place(vma, key->start, key->base) &&
	       list_is_singular(&vma->anon_vma_chain);
}

/*
 * The memory of @pid, locked for writing, if it still has the area of @key; NULL: it has not, and
 * -EBUSY: it is that of @map; -EINTR: the caller is killed.
 */
static struct mm_struct *lock_memory(struct cryo_map_mm *map, const struct cryo_map_key *key,
				     struct pid *pid)
{
	struct mm_struct *mm = cryo_map_memory_of(pid);
	int err = -EBUSY;

	if (!mm)
		return NULL;
	if (mm == map->mm)
		goto out;
	err = mmap_write_lock_killable(mm);
	if (err)
		goto out;
	if (is_joinable(mm, key))
		return mm;
	mmap_write_unlock(mm);
out:
	mmput_async(mm);
	return err ? ERR_PTR(err) : NULL;
}

/*
 * The memory of somebody who has the area of @t, locked for writing; NULL: there is none. Who has
 * it no more is forgotten.
 */
static struct mm_struct *lock_peer(struct cryo_map_mm *map, struct cryo_map_table *t)
{
	struct pid *peers[CRYO_MAP_PEERS];
	struct mm_struct *mm = NULL;
	unsigned int n, i;

	do {
		n = cryo_map_find_peers(map, &t->key, peers);
		for (i = 0; i < n && !mm; i++) {
			mm = lock_memory(map, &t->key, peers[i]);
			if (!mm)
				forget_place(map->user, peers[i], &t->key);
		}
		cryo_map_put_peers(peers, n);
	} while (n && !mm);
	return IS_ERR(mm) ? NULL : mm;
}

static void unlock_peer(struct cryo_map_joining *j)
{
	if (!j->peer)
		return;
	mmap_write_unlock(j->peer);
	mmput_async(j->peer);
	j->peer = NULL;
}

/*
 * Lock the caller's own memory, which is that of @map, for writing; and, if there is one, before
 * that the memory of another process of that user which has the area of @t. The latter is waited
 * for without any other memory's lock; the own one is only tried then, and had at once where the
 * process has no other thread, as it is just being restarted. Until @j is unlocked no other process
 * of the user's gets there: of those who come at the same time one has the area first, and all
 * others find it.
 */
int cryo_map_lock_to_join(struct cryo_map_mm *map, struct cryo_map_table *t,
			  struct cryo_map_joining *j)
{
	int err;

	j->locked = cryo_has(CRYO_FEATURE_SHARE) && begin_to_join(map->user);
	j->peer = j->locked ? lock_peer(map, t) : NULL;
	if (j->peer && lock_own(map->mm))
		return 0;
	unlock_peer(j);
	err = mmap_write_lock_killable(map->mm);
	if (err && j->locked)
		mutex_unlock(&map->user->join_lock);
	return err;
}

void cryo_map_unlock_joined(struct cryo_map_mm *map, struct cryo_map_joining *j)
{
	mmap_write_unlock(map->mm);
	unlock_peer(j);
	if (j->locked)
		mutex_unlock(&map->user->join_lock);
}

/* The area of @v, which has no anon_vma yet, gets that of @peer, NULL if there is none. */
void cryo_map_join(struct cryo_map_vma *v, struct mm_struct *peer)
{
	lockdep_assert_held_write(&v->map->mm->mmap_lock);
	if (peer)
		lockdep_assert_held_write(&peer->mmap_lock);
	/* Another thread of the caller may have made an area before the lock was there. */
	if (peer && v->vma->vm_pgoff == v->table->key.base)
		cryo_anon_vma_join(v->vma, vma_lookup(peer, v->vma->vm_start));
}
