// SPDX-License-Identifier: GPL-2.0-only
/*
 * map_area.c - areas of anonymous memory whose pages have not come yet
 *
 * The area is anonymous and stays so (it has no file), but has operations: so a fault in an entry of the page
 * tables where nothing is comes here, and what is given becomes an anonymous page, which reclaim, migration
 * and fork() treat as any other.  An entry where nothing is means that the page has not come yet, unless its
 * bit in `settled` says that it has, or that the program has dropped it: then it is zero.  The program drops pages
 * by calls that take entries out of page tables, of which a notifier is told.
 *
 * What would need to know of pages that have not come is given all of them first: a fork(), a mremap(),
 * a checkpoint.  When all have come, the area loses its operations.
 *
 * vm_pgoff is nothing that an ordinary area has, so that none is ever merged with this one in whole or in part.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/userfaultfd_k.h>

#include "compat/ksym.h"
#include "compat/mm.h"
#include "cryo.h"
#include "map.h"
#include "page_scan.h"

/* vm_pgoff of the tables of an address space; above all of ordinary ones. */
#define PGOFF_BASE	BIT(46)
#define PGOFF_SHIFT	33
#define MAX_TABLES	4096

static LIST_HEAD(maps);
static DEFINE_MUTEX(maps_lock);
static u64 nr_made;		/* under maps_lock */

static const struct vm_operations_struct area_ops;

bool cryo_map_is_ours(struct vm_area_struct *vma)
{
	return vma->vm_ops == &area_ops;
}

/* From the start of the table's area. Beyond its end: what the program has made of it since. */
unsigned long cryo_map_page_of(struct cryo_map_vma *v, unsigned long addr)
{
	return ((addr - v->vma->vm_start) >> PAGE_SHIFT) + v->vma->vm_pgoff - v->table->base;
}

/* ---- faults ---- */

/* May the lock be dropped, and the fault be made again? Without the lock of the area, which has no map_pages. */
static bool may_retry(unsigned int flags)
{
	return fault_flag_allow_retry_first(flags) && !(flags & FAULT_FLAG_RETRY_NOWAIT);
}

/*
 * A page that is only read gets anonymous memory all the same: the file's page must not be in the
 * page tables. The rights are those of the outer fault.
 */
static vm_fault_t fault_as_write(struct vm_fault *vmf)
{
	vm_fault_t ret = handle_mm_fault(vmf->vma, vmf->address,
					 FAULT_FLAG_WRITE | FAULT_FLAG_REMOTE, NULL);

	return ret & (VM_FAULT_ERROR | VM_FAULT_RETRY) ? ret : VM_FAULT_NOPAGE;
}

/* Pages around it come while nobody else changes the area, and the fault is made again. */
static vm_fault_t come_again(struct cryo_map_vma *v, u32 chunk, unsigned long addr)
{
	struct cryo_map_table *t = v->table;
	struct cryo_map_mm *map = v->map;
	struct mm_struct *mm = map->mm;

	cryo_map_get(map);
	cryo_map_table_get(t);
	mmap_read_unlock(mm);
	/* When it fails, the second fault finds out why. */
	cryo_map_bring_around(map, t, chunk, addr, true);
	cryo_map_table_put(t);
	cryo_map_put(map);
	return VM_FAULT_RETRY;
}

static vm_fault_t failed(int err)
{
	return err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

static vm_fault_t area_fault(struct vm_fault *vmf)
{
	struct cryo_map_vma *v = vmf->vma->vm_private_data;
	unsigned long page = cryo_map_page_of(v, vmf->address & PAGE_MASK);
	struct cryo_map_table_run *run = cryo_map_find_run(v->table, page);
	int err;

	if (run && test_bit(run->bit + page - run->page, v->table->settled))
		run = NULL;
	if (run && may_retry(vmf->flags) &&
	    READ_ONCE(v->table->states[run->chunk]) != CRYO_MAP_BAD)
		return come_again(v, run->chunk, vmf->address & PAGE_MASK);
	if (run) {
		err = cryo_map_verify(v->table, run->chunk);
		if (err)
			return failed(err);
	}
	if (!(vmf->flags & FAULT_FLAG_WRITE))
		return fault_as_write(vmf);
	vmf->page = run ? cryo_map_page(v->table, run, page) :
			  alloc_page(GFP_HIGHUSER | __GFP_ZERO);
	if (!vmf->page)
		return VM_FAULT_OOM;
	return IS_ERR(vmf->page) ? failed(PTR_ERR(vmf->page)) : 0;
}

/* ---- areas come and go ---- */

/* What has not come of [@start, @end) is zero from now on. */
static void drop_range(struct cryo_map_vma *v, unsigned long start, unsigned long end)
{
	struct cryo_map_table *t = v->table;
	unsigned long bit, last;

	last = cryo_map_bit(t, cryo_map_page_of(v, end));
	for (bit = cryo_map_bit(t, cryo_map_page_of(v, start)); bit < last; bit++)
		set_bit(bit, t->settled);
}

static void add_vma(struct cryo_map_vma *v)
{
	spin_lock(&v->map->lock);
	list_add_tail(&v->node, &v->map->vmas);
	spin_unlock(&v->map->lock);
}

static void remove_vma(struct cryo_map_vma *v)
{
	spin_lock(&v->map->lock);
	list_del(&v->node);
	if (v->map->used == v)
		v->map->used = NULL;
	spin_unlock(&v->map->lock);
	cryo_map_table_put(v->table);
	cryo_map_put(v->map);
	kfree(v);
}

/* Of a child that could not be given what it should have. */
static vm_fault_t lost_fault(struct vm_fault *vmf)
{
	return VM_FAULT_SIGBUS;
}

static void lost_open(struct vm_area_struct *vma)
{
	__module_get(THIS_MODULE);
}

/* Nobody is in it any more when the module goes: see unload.h. */
static void lost_close(struct vm_area_struct *vma)
{
	module_put(THIS_MODULE);
}

/* The kernel moves everything back. */
static int lost_mremap(struct vm_area_struct *vma)
{
	return -ENOMEM;
}

static const struct vm_operations_struct lost_ops = {
	.open = lost_open,
	.close = lost_close,
	.mremap = lost_mremap,
	.fault = lost_fault,
};

/* What has not come is an error from now on. */
void cryo_map_lose(struct vm_area_struct *vma)
{
	vma->vm_private_data = NULL;
	lost_open(vma);
	vma->vm_ops = &lost_ops;
}

/* mremap(): what may move comes first, in its old place; the new one is an ordinary area. */
static void open_moved(struct vm_area_struct *vma, struct cryo_map_vma *old)
{
	unsigned long start, size;

	start = old->vma->vm_start + ((vma->vm_pgoff - old->vma->vm_pgoff) << PAGE_SHIFT);
	size = min(vma->vm_end - vma->vm_start, old->vma->vm_end - start);
	if (vma->anon_vma && !cryo_map_bring(old->vma, start, start + size)) {
		vma->vm_private_data = NULL;
		vma_set_anonymous(vma);
	} else {
		cryo_map_lose(vma);
	}
}

/* A copy of an area of ours: in the memory of a child, at another place, or a part of it in its own place. */
static void area_open(struct vm_area_struct *vma)
{
	struct cryo_map_vma *old = vma->vm_private_data;
	struct cryo_map_vma *v;

	if (vma->vm_mm != old->map->mm) {
		cryo_map_open_in_child(vma, old);
		return;
	}
	if (vma->vm_start < old->vma->vm_start || vma->vm_end > old->vma->vm_end) {
		open_moved(vma, old);
		return;
	}
	/* There is no way to say that it failed; it is less than the area itself has taken. */
	v = kzalloc(sizeof(*v), GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);
	v->vma = vma;
	v->map = old->map;
	v->table = old->table;
	cryo_map_get(v->map);
	cryo_map_table_get(v->table);
	vma->vm_private_data = v;
	add_vma(v);
}

/* What comes to its place later is zero: another area of ours may grow there. */
static void area_close(struct vm_area_struct *vma)
{
	struct cryo_map_vma *v = vma->vm_private_data;

	drop_range(v, vma->vm_start, vma->vm_end);
	remove_vma(v);
}

static const struct vm_operations_struct area_ops = {
	.open = area_open,
	.close = area_close,
	.fault = area_fault,
};

/* ---- what the program drops ---- */

/*
 * Is it that the program drops the range?  Then it is in one area, which is not being changed: who cuts an area
 * in two or joins two of them tells of the huge page that might be at the border, in a range of that size.
 */
static bool is_dropped(struct vm_area_struct *vma, unsigned long start, unsigned long end)
{
	return vma->vm_start <= start && end <= vma->vm_end && !cryo_vma_changes(vma);
}

/*
 * Entries are about to be taken out of page tables. The caller keeps the area in which that is from changing;
 * others may change, but do not come into the range by that. Who only takes away what is there
 * (reclaim, migration) does no harm: a page that is there needs no bit.
 */
static void look_at_range(struct cryo_map_vma *v, enum cryo_mmu_event event, unsigned long start,
			  unsigned long end)
{
	if (event == CRYO_MMU_CLEAR && is_dropped(v->vma, start, end))
		drop_range(v, start, end);
	if (event == CRYO_MMU_COPY && v->vma->vm_start == start && v->vma->vm_end == end)
		WRITE_ONCE(v->copied, true);
}

static int map_invalidate_start(struct mmu_notifier *notifier,
				const struct mmu_notifier_range *range)
{
	struct cryo_map_mm *map = container_of(notifier, struct cryo_map_mm, notifier);
	enum cryo_mmu_event event;
	unsigned long start, end;
	struct cryo_map_vma *v;

	event = cryo_mmu_range(range, &start, &end);
	if (event == CRYO_MMU_OTHER)
		return 0;
	spin_lock(&map->lock);
	list_for_each_entry(v, &map->vmas, node)
		look_at_range(v, event, start, end);
	spin_unlock(&map->lock);
	return 0;
}

static const struct mmu_notifier_ops notifier_ops = {
	.invalidate_range_start = map_invalidate_start,
};

/* ---- address spaces ---- */

void cryo_map_get(struct cryo_map_mm *map)
{
	kref_get(&map->ref);
}

/* Where it may be waited, and no lock is held. */
void cryo_map_end(struct work_struct *work)
{
	struct cryo_map_mm *map = container_of(work, struct cryo_map_mm, end);

	mutex_lock(&maps_lock);
	list_del(&map->node);
	mutex_unlock(&maps_lock);
	mmu_notifier_unregister(&map->notifier, map->mm);
	mmdrop(map->mm);
	put_pid(map->owner);
	kfree(map);
	/* The queue is emptied before the module goes. */
	module_put(THIS_MODULE);
}

static void end_map(struct kref *ref)
{
	queue_work(cryo_map_queue, &container_of(ref, struct cryo_map_mm, ref)->end);
}

void cryo_map_put(struct cryo_map_mm *map)
{
	kref_put(&map->ref, end_map);
}

/* @mm is the caller's. */
static struct cryo_map_mm *make_map(struct mm_struct *mm)
{
	struct cryo_map_mm *map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	int err;

	if (!map)
		return ERR_PTR(-ENOMEM);
	kref_init(&map->ref);
	spin_lock_init(&map->lock);
	INIT_LIST_HEAD(&map->vmas);
	INIT_DELAYED_WORK(&map->populate, cryo_map_populate);
	INIT_WORK(&map->end, cryo_map_end);
	map->mm = mm;
	map->notifier.ops = &notifier_ops;
	err = mmu_notifier_register(&map->notifier, mm);
	if (err) {
		kfree(map);
		return ERR_PTR(err);
	}
	mmgrab(mm);
	map->owner = get_pid(task_tgid(current));
	map->number = nr_made++;
	__module_get(THIS_MODULE);
	list_add_tail(&map->node, &maps);
	return map;
}

/* The one of @mm, with a reference. NULL: it has none, and none is to be made. */
struct cryo_map_mm *cryo_map_of(struct mm_struct *mm, bool make)
{
	struct cryo_map_mm *map, *found = NULL;

	if (mutex_lock_killable(&maps_lock))
		return ERR_PTR(-EINTR);
	list_for_each_entry(map, &maps, node) {
		if (map->mm == mm && kref_get_unless_zero(&map->ref)) {
			found = map;
			break;
		}
	}
	if (!found && make)
		found = make_map(mm);
	mutex_unlock(&maps_lock);
	return found;
}

/* ---- from ordinary to ours and back ---- */

/* Private, and nothing that others care for? */
static bool is_fresh(struct vm_area_struct *vma, const struct cryo_map *args)
{
	return vma && vma->vm_start == args->start && vma->vm_end == args->end &&
	       vma_is_anonymous(vma) && !vma->vm_file && !vma->anon_vma &&
	       vma->vm_flags & VM_MAYWRITE && !userfaultfd_armed(vma) && !cryo_vma_sealed(vma) &&
	       !cryo_vma_droppable(vma) && !cryo_vma_shadow_stack(vma) &&
	       !(vma->vm_flags & (VM_SHARED | VM_MAYSHARE | VM_GROWSDOWN | VM_GROWSUP | VM_LOCKED |
				  VM_LOCKONFAULT | VM_HUGETLB | VM_SPECIAL));
}

/* vm_pgoff of the next area of @map. */
static unsigned long next_base(const struct cryo_map_mm *map)
{
	return PGOFF_BASE + ((unsigned long)READ_ONCE(map->nr_tables) << PGOFF_SHIFT);
}

static int add_locked(struct cryo_map_mm *map, struct cryo_map_vma *v, const struct cryo_map *args)
{
	struct vm_area_struct *vma = find_vma(map->mm, args->start);
	unsigned long end;

	/* A huge page of zeros, which does not need an anon_vma, is nothing for an area with operations. */
	if (!is_fresh(vma, args) ||
	    cryo_page_scan(map->mm, args->start, args->end, PAGE_SIZE, &end) < args->end)
		return -EINVAL;
	if (map->nr_tables == MAX_TABLES)
		return -ENOSPC;
	cryo_vma_start_write(map->mm, args->start);
	v->table->base = next_base(map);
	map->nr_tables++;
	v->vma = vma;
	vma->vm_pgoff = v->table->base;
	vma->vm_private_data = v;
	vma->vm_ops = &area_ops;
	map->first_over &= !v->table->nr_first;
	add_vma(v);
	return 0;
}

/* -EOPNOTSUPP: the area is there, but has no anon_vma, which a child's copy of it begins with. */
int cryo_map_add(struct cryo_map_mm *map, struct cryo_map_table *t, const struct cryo_map *args)
{
	struct cryo_map_vma *v = kzalloc(sizeof(*v), GFP_KERNEL_ACCOUNT);
	int err, incomplete = 0;
	struct cryo_map_joining j;

	if (!v)
		return -ENOMEM;
	v->map = map;
	v->table = t;
	cryo_map_key_set(t, args->start, next_base(map));
	err = cryo_map_lock_to_join(map, t, &j);
	if (!err) {
		err = add_locked(map, v, args);
		/* The area has them. */
		if (!err) {
			cryo_map_get(map);
			cryo_map_table_get(t);
			cryo_map_join(v, j.peer);
			incomplete = cryo_anon_vma_prepare(v->vma);
			cryo_map_note_place(map, t);
		}
		cryo_map_unlock_joined(map, &j);
	}
	if (err)
		kfree(v);
	return err ?: incomplete;
}

/* All pages of all areas have come. With mmap_lock for writing. */
void cryo_map_convert(struct cryo_map_mm *map)
{
	struct cryo_map_vma *v, *next;

	list_for_each_entry_safe(v, next, &map->vmas, node) {
		cryo_vma_start_write(map->mm, v->vma->vm_start);
		v->vma->vm_private_data = NULL;
		vma_set_anonymous(v->vma);
		cryo_khugepaged_enter(v->vma);
		remove_vma(v);
	}
}
