// SPDX-License-Identifier: GPL-2.0-only
/*
 * track.c - since when the kernel's soft-dirty bits tell what a process has written to
 *
 * A capture that is to be a parent clears the bits in the walk that protects the pages (protect.c),
 * and leaves a mark at the memory: which areas have been looked at, and, once the context is
 * complete, its identity. The next capture that is told this identity as that of its parent leaves
 * pages out whose bit is not set. The bit of a page alone does not tell enough:
 *
 *  - Others clear the bits, too (/proc/PID/clear_refs). A notifier at the memory sees it, and the
 *    mark is void.
 *  - Pages come to an address without a bit when page tables are moved whole (mremap()), and the
 *    kernel lets bits go unset in areas with VM_SOFTDIRTY, a flag that an area may lose by being
 *    merged with a neighbour. So an area counts only as long as it is one that was looked at, or a
 *    part of one, has not got the flag since, and nothing in it was unmapped, moved away or given
 *    another protection: the notifier again.
 *  - KSM replaces a page by another one of the same contents whose bit is not set: memory that it
 *    may have worked on has no mark.
 *
 * The mark belongs to the memory: exec() and fork() make others, without. It goes with it, or with
 * the module.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "access/switches.h"
#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "compat/mm.h"
#include "compat/mmu_notifier.h"
#include "cryo_arch.h"
#include "lib/args.h"
#include "lib/per_user.h"
#include "lib/point.h"
#include "lib/unload.h"
#include "memory/track.h"
#include "request/exclusions.h"

#ifdef CONFIG_MMU_NOTIFIER

#define TRACKS_MAX	4096	/* of a user */

struct track_area {
	unsigned long vma_start;	/* as it was: it may have become several */
	unsigned long vma_end;
	unsigned long start;		/* what was looked at; ascending */
	unsigned long end;
	bool lost;
};

/* What one capture has looked at. */
struct track_look {
	struct track_area *areas;
	unsigned int nr;
	unsigned int room;
	bool valid;
	bool named;			/* its context is complete: it is @id */
	u8 id[CRYO_HASH_SIZE];
	u64 serial;			/* of the capture */
	u32 mm_id;			/* in its context */
};

struct cryo_track {
	struct mmu_notifier notifier;
	struct hlist_node node;		/* in tracks */
	struct cryo_user *user;		/* counted: who has asked for it */
	spinlock_t lock;		/* protects what follows */
	bool busy;			/* between begin and end */
	struct track_look last;
	struct track_look next;		/* while busy */
};

static DEFINE_HASHTABLE(tracks, 10);
/* Protects it; a track in it has its notifier. Before a track's own lock. */
static DEFINE_SPINLOCK(tracks_lock);

static bool may_be_merged(struct mm_struct *mm)
{
	return cryo_mm_flag(MMF_VM_MERGEABLE, mm);
}

/* The first area that ends after @addr. */
static unsigned int find_area(const struct track_look *look, unsigned long addr)
{
	unsigned int low = 0, high = look->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (look->areas[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static void lose_range(struct track_look *look, unsigned long start, unsigned long end)
{
	unsigned int i;

	for (i = find_area(look, start); i < look->nr && look->areas[i].start < end; i++)
		look->areas[i].lost = true;
}

/*
 * By mprotect(), which has mmap_lock for writing; not by the balancing of NUMA nodes, which has it
 * for reading, goes over all memory again and again, and leaves the bits as they are. Where there
 * is only one node, or it is not known who has which lock, it may be mprotect(): an area too much
 * is looked at then, none too little.
 */
static bool is_mprotect(struct mm_struct *mm)
{
	if (!IS_ENABLED(CONFIG_NUMA_BALANCING) || num_online_nodes() == 1 ||
	    !CRYO_MPROTECT_LOCKS_MM)
		return true;
	lockdep_assert_held(&mm->mmap_lock);
	if (!rwsem_is_locked(&mm->mmap_lock) || !mmap_read_trylock(mm))
		return true;
	mmap_read_unlock(mm);
	return false;
}

static int track_invalidate_start(struct mmu_notifier *notifier,
				  const struct mmu_notifier_range *range)
{
	struct cryo_track *t = container_of(notifier, struct cryo_track, notifier);
	bool all = may_be_merged(range->mm), some = false;

	switch (range->event) {
	case MMU_NOTIFY_CLEAR:
	case MMU_NOTIFY_PROTECTION_PAGE:
		break;
	case MMU_NOTIFY_PROTECTION_VMA:
		some = is_mprotect(range->mm);
		break;
	case MMU_NOTIFY_UNMAP:
		some = true;
		break;
	default:
		all = true;
	}
	if (!some && !all)
		return 0;
	spin_lock(&t->lock);
	if (all) {
		t->last.valid = false;
		t->next.valid = false;
	} else {
		lose_range(&t->last, range->start, range->end);
		lose_range(&t->next, range->start, range->end);
	}
	spin_unlock(&t->lock);
	return 0;
}

static bool take_off_list(struct cryo_track *t)
{
	bool listed;

	spin_lock(&tracks_lock);
	listed = hash_hashed(&t->node);
	hash_del(&t->node);
	spin_unlock(&tracks_lock);
	return listed;
}

static void release_track(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	if (take_off_list(container_of(notifier, struct cryo_track, notifier)))
		mmu_notifier_put(notifier);
}

static struct mmu_notifier *alloc_notifier(struct mm_struct *mm)
{
	struct cryo_track *t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);

	if (!t)
		return ERR_PTR(-ENOMEM);
	cryo_unload_get();
	INIT_HLIST_NODE(&t->node);
	spin_lock_init(&t->lock);
	return &t->notifier;
}

static void free_notifier(struct mmu_notifier *notifier)
{
	struct cryo_track *t = container_of(notifier, struct cryo_track, notifier);

	kvfree(t->last.areas);
	kvfree(t->next.areas);
	if (t->user)
		atomic_dec(&t->user->tracks);
	cryo_user_put(t->user);
	kfree(t);
	cryo_unload_put();
}

static const struct mmu_notifier_ops track_ops = {
	.release = release_track,
	.invalidate_range_start = track_invalidate_start,
	.alloc_notifier = alloc_notifier,
	.free_notifier = free_notifier,
};

static struct cryo_track *find_listed(struct mm_struct *mm)
{
	struct cryo_track *t;

	lockdep_assert_held(&tracks_lock);
	hash_for_each_possible(tracks, t, node, (unsigned long)mm)
		if (t->notifier.mm == mm)
			return t;
	return NULL;
}

/* Of @mm, which has users: it stays, then. */
static struct cryo_track *find_track(struct mm_struct *mm)
{
	struct cryo_track *t;

	spin_lock(&tracks_lock);
	t = find_listed(mm);
	spin_unlock(&tracks_lock);
	return t;
}

/* False: the requester has as many as he may have. */
static bool add_to_list(struct cryo_track *t)
{
	struct cryo_user *user = cryo_user_get();

	if (!user)
		return false;
	t->user = user;
	if (atomic_inc_return(&user->tracks) > (int)cryo_few(tracks, TRACKS_MAX))
		return false;
	spin_lock(&tracks_lock);
	hash_add(tracks, &t->node, (unsigned long)t->notifier.mm);
	spin_unlock(&tracks_lock);
	return true;
}

/* NULL: cannot be had. */
static struct cryo_track *find_or_make(struct mm_struct *mm)
{
	struct cryo_track *t = find_track(mm);
	struct mmu_notifier *notifier;

	lockdep_assert_held_write(&mm->mmap_lock);
	if (t || cryo_mm_other_notifiers(mm, NULL, NULL))
		return t;
	notifier = mmu_notifier_get_locked(&track_ops, mm);
	if (IS_ERR(notifier))
		return NULL;
	t = container_of(notifier, struct cryo_track, notifier);
	if (add_to_list(t))
		return t;
	mmu_notifier_put(notifier);
	return NULL;
}

static bool start_look(struct cryo_capture *c, struct cryo_proc *p, struct cryo_track *t,
		       struct track_area *areas, unsigned int room)
{
	bool free;

	spin_lock(&t->lock);
	free = !t->busy;
	if (free) {
		t->busy = true;
		t->next = (struct track_look){
			.areas = areas,
			.room = room,
			.valid = true,
			.serial = c->req->track_serial,
			.mm_id = p->mm_id,
		};
		t->last.valid &= t->last.named && c->req->has_parent &&
				 !memcmp(t->last.id, c->req->parent, sizeof(t->last.id));
	}
	spin_unlock(&t->lock);
	return free;
}

/* A capture begins to look at the memory of @p. NULL: it is not to, or cannot. */
struct cryo_track *cryo_track_begin(struct cryo_capture *c, struct cryo_proc *p)
{
	unsigned int room = p->nr_vmas + (p->excluded ? p->excluded->nr : 0);
	struct mm_struct *mm = p->mm;
	struct cryo_track *t;
	struct track_area *areas;

	if (!(c->req->args.flags & CRYO_CKPT_TRACK) || !cryo_has(CRYO_FEATURE_TRACK) ||
	    may_be_merged(mm))
		return NULL;
	areas = kvmalloc_array(room, sizeof(*areas), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!areas)
		return NULL;
	if (cryo_mmap_write_lock(c->req, mm))
		goto free_areas;
	t = find_or_make(mm);
	mmap_write_unlock(mm);
	if (t && start_look(c, p, t, areas, room))
		return t;
free_areas:
	kvfree(areas);
	return NULL;
}

/* It is through; @complete: with all of the memory. */
void cryo_track_end(struct cryo_capture *c, struct cryo_track *t, bool complete)
{
	struct track_area *old;

	spin_lock(&t->lock);
	old = t->last.areas;
	t->last = t->next;
	t->last.valid &= complete;
	memset(&t->next, 0, sizeof(t->next));
	t->busy = false;
	spin_unlock(&t->lock);
	kvfree(old);
}

/*
 * Is there nobody but @t (NULL: its account, if it has one) and @also (or NULL) who follows the
 * page tables of @mm? Nobody comes to be the first as long as the caller has mmap_lock.
 */
bool cryo_track_is_lone(struct cryo_track *t, struct mm_struct *mm, struct mmu_notifier *also)
{
	lockdep_assert_held(&mm->mmap_lock);
	if (!t)
		t = find_track(mm);
	return !cryo_mm_other_notifiers(mm, t ? &t->notifier : NULL, also);
}

/* Number of the memory in the parent that it is compared with; 0: with none. */
u32 cryo_track_parent(struct cryo_track *t)
{
	u32 parent;

	spin_lock(&t->lock);
	parent = t->last.valid ? t->last.mm_id : 0;
	spin_unlock(&t->lock);
	return parent;
}

/* @vma is going to be looked at from @start to @end. False: not for the next one. */
bool cryo_track_add(struct cryo_track *t, struct vm_area_struct *vma, unsigned long start,
		    unsigned long end)
{
	bool room;

	lockdep_assert_held_write(&vma->vm_mm->mmap_lock);
	spin_lock(&t->lock);
	room = t->next.nr < t->next.room && t->next.valid;
	if (room)
		t->next.areas[t->next.nr++] = (struct track_area){
			.vma_start = vma->vm_start, .vma_end = vma->vm_end,
			.start = start, .end = end,
		};
	spin_unlock(&t->lock);
	return room;
}

static bool look_covers(const struct track_look *look, struct vm_area_struct *vma,
			unsigned long start, unsigned long end)
{
	const struct track_area *area;
	unsigned int i;

	if (!look->valid)
		return false;
	i = find_area(look, start);
	if (i == look->nr)
		return false;
	area = &look->areas[i];
	return !area->lost && area->start <= start && end <= area->end &&
	       area->vma_start <= vma->vm_start && vma->vm_end <= area->vma_end;
}

/*
 * Do the bits of @vma from @start to @end tell what has been written since the parent? All who
 * clear bits have mmap_lock for writing, as the caller has, so that the answer is good until it is
 * given back.
 */
bool cryo_track_covers(struct cryo_track *t, struct vm_area_struct *vma, unsigned long start,
		       unsigned long end)
{
	bool result;

	lockdep_assert_held_write(&vma->vm_mm->mmap_lock);
	spin_lock(&t->lock);
	result = look_covers(&t->last, vma, start, end) && !may_be_merged(vma->vm_mm);
	spin_unlock(&t->lock);
	return result;
}

/* Has the memory of the target a mark of that context? */
static bool target_has_mark(struct cryo_request *req)
{
	struct mm_struct *mm = cryo_has(CRYO_FEATURE_TRACK) ? get_task_mm(req->target) : NULL;
	struct cryo_track *t;
	bool result = false;

	if (!mm)
		return false;
	t = find_track(mm);
	if (t) {
		spin_lock(&t->lock);
		result = !t->busy && t->last.valid && t->last.named &&
			 !memcmp(t->last.id, req->parent, sizeof(req->parent));
		spin_unlock(&t->lock);
	}
	mmput(mm);
	return result;
}

static void name_track(struct cryo_track *t, u64 serial, const u8 *id)
{
	lockdep_assert_held(&tracks_lock);
	spin_lock(&t->lock);
	if (t->last.serial == serial) {
		memcpy(t->last.id, id, sizeof(t->last.id));
		t->last.named = true;
	}
	spin_unlock(&t->lock);
}

/* All memories that the capture @serial has looked at last. */
static void name_last_looks(u64 serial, const u8 *id)
{
	struct cryo_track *t;
	unsigned int i;

	for (i = 0; i < HASH_SIZE(tracks); i++) {
		spin_lock(&tracks_lock);
		hlist_for_each_entry(t, &tracks[i], node)
			name_track(t, serial, id);
		spin_unlock(&tracks_lock);
	}
}

static struct cryo_track *take_first(struct hlist_head *bucket)
{
	struct cryo_track *t;

	spin_lock(&tracks_lock);
	t = hlist_entry_safe(bucket->first, struct cryo_track, node);
	if (t)
		hash_del(&t->node);
	spin_unlock(&tracks_lock);
	return t;
}

void cryo_track_exit(void)
{
	struct cryo_track *t;
	unsigned int i;

	for (i = 0; i < HASH_SIZE(tracks); i++)
		while ((t = take_first(&tracks[i])))
			mmu_notifier_put(&t->notifier);
	mmu_notifier_synchronize();
}

#else /* without notifiers there is no telling what others do to the bits */

struct cryo_track *cryo_track_begin(struct cryo_capture *c, struct cryo_proc *p)
{
	return NULL;
}

void cryo_track_end(struct cryo_capture *c, struct cryo_track *t, bool complete)
{
}

bool cryo_track_is_lone(struct cryo_track *t, struct mm_struct *mm, struct mmu_notifier *also)
{
	return true;
}

u32 cryo_track_parent(struct cryo_track *t)
{
	return 0;
}

bool cryo_track_add(struct cryo_track *t, struct vm_area_struct *vma, unsigned long start,
		    unsigned long end)
{
	return false;
}

bool cryo_track_covers(struct cryo_track *t, struct vm_area_struct *vma, unsigned long start,
		       unsigned long end)
{
	return false;
}

static bool target_has_mark(struct cryo_request *req)
{
	return false;
}

static void name_last_looks(u64 serial, const u8 *id)
{
}

void cryo_track_exit(void)
{
}
#endif

static atomic64_t last_serial = ATOMIC64_INIT(0);

static int copy_context(struct cryo_ckpt_context *in, void __user *arg)
{
	int err = cryo_copy_args(in, sizeof(*in), sizeof(*in), arg);

	return err ?: in->tracked ? -EINVAL : 0;
}

/*
 * With req->lock. The answer is about what the target is now, to who asks now: both may be others
 * than when the handle was made.
 */
static int set_parent(struct cryo_request *req, struct cryo_ckpt_context *args)
{
	int err;

	lockdep_assert_held(&req->lock);
	if (req->state != CRYO_STATE_NEW)
		return -EBUSY;
	err = cryo_request_ask_target(req);
	if (err)
		return err;
	memcpy(req->parent, args->id, sizeof(req->parent));
	req->has_parent = true;
	args->tracked = target_has_mark(req);
	return 0;
}

long cryo_track_ask(struct cryo_request *req, void __user *arg)
{
	struct cryo_ckpt_context args;
	int err = copy_context(&args, arg);

	if (err)
		return err;
	if (cryo_request_lock(req))
		return -EINTR;
	err = set_parent(req, &args);
	cryo_request_unlock(req);
	if (err)
		return err;
	return put_user(args.tracked, &((struct cryo_ckpt_context __user *)arg)->tracked);
}

/*
 * With req->lock. By another name an account would tell wrongly what is as it was: only who may
 * trace the target gives it one.
 */
static int name_account(struct cryo_request *req, const u8 *id)
{
	int err;

	lockdep_assert_held(&req->lock);
	if ((req->state != CRYO_STATE_DONE && req->state != CRYO_STATE_HELD) || !req->track_serial)
		return -EINVAL;
	err = cryo_request_ask_target(req);
	if (!err)
		name_last_looks(req->track_serial, id);
	return err;
}

long cryo_track_commit(struct cryo_request *req, void __user *arg)
{
	struct cryo_ckpt_context args;
	int err = copy_context(&args, arg);

	if (err)
		return err;
	if (cryo_request_lock(req))
		return -EINTR;
	err = name_account(req, args.id);
	cryo_request_unlock(req);
	return err;
}

u64 cryo_track_serial(void)
{
	return atomic64_inc_return(&last_serial);
}
