// SPDX-License-Identifier: GPL-2.0-only
/*
 * map_area.c - areas of anonymous memory whose pages have not come yet
 *
 * The area is anonymous and stays so (it has no file), but has operations: so a fault in an entry
 * of the page tables where nothing is comes here, and what is given becomes an anonymous page,
 * which reclaim, migration and fork() treat as any other. An entry where nothing is means that the
 * page has not come yet, unless its bit in `settled` says that it has, or that the program has
 * dropped it: then it is zero. The program drops pages by calls that take entries out of page
 * tables, of which a notifier is told.
 *
 * What would need to know of pages that have not come is given all of them first: a fork(), a
 * mremap(), a checkpoint. When all have come, the area loses its operations.
 *
 * vm_pgoff is nothing that an ordinary area has, so that none is ever merged with this one in whole
 * or in part.
 */
#include <linux/hashtable.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/userfaultfd_k.h>

#include "capture/page_scan.h"
#include "compat/ksym.h"
#include "compat/mm.h"
#include "lazy/map.h"
#include "lib/in_use.h"
#include "lib/point.h"
#include "lib/trace.h"

/* vm_pgoff of the tables of an address space; above all of ordinary ones. */
#define PGOFF_BASE	BIT(46)
#define PGOFF_SHIFT	33
#define MAX_TABLES	4096
/* Of memory that the tables of an address space take: what 64 TiB need, at 4 KiB a page. */
#define MAX_TABLE_BYTES	(4ULL * SZ_1G)

static DEFINE_HASHTABLE(maps, 8);
static u64 nr_made;
/* Protects both. Never held while waiting: it is the same for all users. */
static DEFINE_SPINLOCK(maps_lock);

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

/* May mmap_lock be dropped, and the fault be made again? */
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

/* Pages around it are installed while the area cannot change, and the fault is retried. */
static vm_fault_t load_and_retry_fault(struct cryo_map_vma *v, u32 chunk, unsigned long addr)
{
	struct cryo_map_table *t = v->table;
	struct cryo_map_mm *map = v->map;
	struct mm_struct *mm = map->mm;

	trace_cryo_map_fault(map->owner, addr);
	cryo_map_get(map);
	cryo_map_table_get(t);
	mmap_read_unlock(mm);
	/* When it fails, the second fault finds out why. */
	cryo_map_load_around(map, t, chunk, addr, true);
	cryo_map_table_put(t);
	cryo_map_put(map);
	return VM_FAULT_RETRY;
}

static vm_fault_t fault_of_error(int err)
{
	return err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

static vm_fault_t area_fault(struct vm_fault *vmf)
{
	struct cryo_map_vma *v = vmf->vma->vm_private_data;
	unsigned long page = cryo_map_page_of(v, vmf->address & PAGE_MASK);
	struct cryo_map_table_run *run = cryo_map_find_run(v->table, page);
	int err;

	if (cryo_fault_left_vma_lock(vmf))
		return VM_FAULT_RETRY;
	if (run && test_bit(run->bit + page - run->page, v->table->settled))
		run = NULL;
	if (run && may_retry(vmf->flags) &&
	    READ_ONCE(v->table->states[run->chunk]) != CRYO_MAP_BAD)
		return load_and_retry_fault(v, run->chunk, vmf->address & PAGE_MASK);
	if (run) {
		err = cryo_map_verify(v->table, run->chunk);
		if (err)
			return fault_of_error(err);
	}
	if (!(vmf->flags & FAULT_FLAG_WRITE))
		return fault_as_write(vmf);
	vmf->page = run ? cryo_map_page(v->table, run, page) :
			  alloc_page(GFP_HIGHUSER | __GFP_ZERO);
	if (!vmf->page)
		return VM_FAULT_OOM;
	if (IS_ERR(vmf->page))
		return fault_of_error(PTR_ERR(vmf->page));
	trace_cryo_map_page(v->map->owner, vmf->address & PAGE_MASK, run);
	if (run && !v->settles) {
		atomic_long_inc(&v->table->given);
		cryo_map_note_settled(v->map, v->table, 0);
	}
	return 0;
}

/* ---- areas come and go ---- */

static struct cryo_map_bits bits_of(struct cryo_map_vma *v, unsigned long start, unsigned long end)
{
	return (struct cryo_map_bits){
		.start = cryo_map_bit(v->table, cryo_map_page_of(v, start)),
		.end = cryo_map_bit(v->table, cryo_map_page_of(v, end)),
	};
}

/*
 * What has not come of them is zero from now on. There may be 2^32: no spinlock is held meanwhile.
 */
static void drop_bits(struct cryo_map_mm *map, struct cryo_map_table *t, struct cryo_map_bits bits,
		      bool sleeps)
{
	if (bits.start < bits.end)
		cryo_map_note_settled(map, t, cryo_map_settle(t, bits.start, bits.end, sleeps));
}

static void add_vma(struct cryo_map_vma *v)
{
	struct cryo_map_mm *map = v->map;

	spin_lock(&map->lock);
	list_add_tail(&v->node, &map->vmas);
	if (!v->table->nr_vmas++) {
		map->bytes += v->table->bytes;
		map->incomplete++;
	}
	spin_unlock(&map->lock);
}

/*
 * True: of no area that @map has left pages are missing. There is a reference to it then, for
 * cryo_map_convert_later().
 */
static bool complete_table(struct cryo_map_mm *map, struct cryo_map_table *t)
{
	lockdep_assert_held(&map->lock);
	if (t->complete)
		return false;
	t->complete = true;
	if (--map->incomplete || list_empty(&map->vmas))
		return false;
	cryo_map_get(map);
	return true;
}

static void remove_vma(struct cryo_map_vma *v)
{
	struct cryo_map_mm *map = v->map;
	bool over = false;

	spin_lock(&map->lock);
	list_del(&v->node);
	if (map->used == v)
		map->used = NULL;
	if (!--v->table->nr_vmas) {
		map->bytes -= v->table->bytes;
		over = complete_table(map, v->table);
	}
	spin_unlock(&map->lock);
	if (over)
		cryo_map_convert_later(map);
	cryo_map_table_put(v->table);
	cryo_map_put(v->map);
	kfree(v);
}

/*
 * @n more bits of @t have been set. Where nobody brings the rest in the background, the areas of
 * @map become ordinary ones when there is no rest any more. A page that has come without a bit may
 * have been dropped since, and so be counted twice: then what is left of the rest is brought,
 * though nobody has asked for it.
 */
void cryo_map_note_settled(struct cryo_map_mm *map, struct cryo_map_table *t, unsigned long n)
{
	bool over = false;

	if (atomic_long_sub_return(n, &t->unsettled) > atomic_long_read(&t->given))
		return;
	spin_lock(&map->lock);
	if (t->nr_vmas)
		over = complete_table(map, t);
	spin_unlock(&map->lock);
	if (over)
		cryo_map_convert_later(map);
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

/* No task is in it any more when the module is unloaded: see unload.h. */
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

/*
 * What has not come is an error from now on. MGLRU passes over areas that are not to be expanded,
 * and would warn of this one otherwise; it cannot grow anyway.
 */
void cryo_map_poison(struct vm_area_struct *vma)
{
	vma->vm_private_data = NULL;
	lost_open(vma);
	vma->vm_ops = &lost_ops;
	cryo_vma_set_flags(vma, VM_DONTEXPAND);
}

bool cryo_map_is_poisoned(struct vm_area_struct *vma)
{
	return vma->vm_ops == &lost_ops;
}

/* mremap(): what may move comes first, in its old place; the new one is an ordinary area. */
static void open_moved(struct vm_area_struct *vma, struct cryo_map_vma *old)
{
	unsigned long start, size;

	start = old->vma->vm_start + ((vma->vm_pgoff - old->vma->vm_pgoff) << PAGE_SHIFT);
	size = min(vma->vm_end - vma->vm_start, old->vma->vm_end - start);
	if (vma->anon_vma && !cryo_map_load(old->vma, start, start + size)) {
		vma->vm_private_data = NULL;
		vma_set_anonymous(vma);
	} else {
		cryo_map_poison(vma);
	}
}

/* Each half has its own struct cryo_map_vma. */
static int area_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	struct cryo_map_vma *v = vma->vm_private_data;

	lockdep_assert_held_write(&vma->vm_mm->mmap_lock);
	if (!v->map->spare)
		v->map->spare = kzalloc(sizeof(*v), GFP_KERNEL_ACCOUNT);
	return v->map->spare ? 0 : -ENOMEM;
}

/*
 * A copy of an area of ours: in the memory of a child, at another place, or a part of it in its own
 * place.
 */
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
	/* It was asked whether the area may be cut in two before. */
	v = old->map->spare;
	old->map->spare = NULL;
	if (WARN_ON_ONCE(!v)) {
		cryo_map_poison(vma);
		return;
	}
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

	drop_bits(v->map, v->table, bits_of(v, vma->vm_start, vma->vm_end), true);
	remove_vma(v);
}

static const struct vm_operations_struct area_ops = {
	.open = area_open,
	.close = area_close,
	.may_split = area_may_split,
	.fault = area_fault,
};

/* ---- what the program drops ---- */

/*
 * Is it that the program drops the range? Then it is in one area, which is not being changed: who
 * cuts an area in two or joins two of them tells of the huge page that might be at the border, in a
 * range of that size.
 */
static bool is_dropped(struct vm_area_struct *vma, unsigned long start, unsigned long end)
{
	return vma->vm_start <= start && end <= vma->vm_end && !cryo_vma_changes(vma);
}

/*
 * The kernel's reverse map comes to every area that a page might be in, before it looks whether it
 * is there: from reclaim, compaction or migration nothing follows. A program drops only what is its
 * own.
 */
static bool is_by_program(const struct cryo_map_mm *map)
{
	return current->mm == map->mm && !(current->flags & PF_MEMALLOC);
}

/*
 * Entries are about to be taken out of page tables, or copied. The caller is the process itself,
 * and keeps the area in which that is from changing and from being freed. Returns the table of what
 * is dropped, counted: who has no mmap_lock does not keep the area from becoming an ordinary one.
 */
static struct cryo_map_table *look_at_range(struct cryo_map_mm *map, enum cryo_mmu_event event,
					    unsigned long start, unsigned long end,
					    struct cryo_map_bits *bits)
{
	struct vm_area_struct *vma = mtree_load(&map->mm->mm_mt, start);
	struct cryo_map_vma *v;

	lockdep_assert_held(&map->lock);
	/* By its address: there may be very many. */
	v = vma && cryo_map_is_ours(vma) ? READ_ONCE(vma->vm_private_data) : NULL;
	if (!v)
		return NULL;
	if (event == CRYO_MMU_CLEAR && is_dropped(vma, start, end)) {
		*bits = bits_of(v, start, end);
		cryo_map_table_get(v->table);
		return v->table;
	}
	if (event == CRYO_MMU_COPY && vma->vm_start == start && vma->vm_end == end)
		WRITE_ONCE(v->copied, true);
	return NULL;
}

static int map_invalidate_start(struct mmu_notifier *notifier,
				const struct mmu_notifier_range *range)
{
	struct cryo_map_mm *map = container_of(notifier, struct cryo_map_mm, notifier);
	struct cryo_map_bits bits;
	struct cryo_map_table *t;
	enum cryo_mmu_event event;
	unsigned long start, end;

	event = cryo_mmu_range(range, &start, &end);
	if (event == CRYO_MMU_OTHER || !is_by_program(map))
		return 0;
	spin_lock(&map->lock);
	t = look_at_range(map, event, start, end, &bits);
	spin_unlock(&map->lock);
	if (!t)
		return 0;
	drop_bits(map, t, bits, mmu_notifier_range_blockable(range));
	cryo_map_table_put(t);
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

static void free_map(struct cryo_map_mm *map)
{
	cryo_user_put(map->user);
	put_pid(map->owner);
	kfree(map->spare);
	kfree(map);
	cryo_use_end(CRYO_USE_MEMORY);
}

static bool is_known(struct mm_struct *mm)
{
	struct cryo_map_mm *map;

	lockdep_assert_held(&maps_lock);
	hash_for_each_possible(maps, map, node, (unsigned long)mm)
		if (map->mm == mm)
			return true;
	return false;
}

/*
 * MGLRU does not walk through memory that has areas of ours: it warns of areas that are not
 * anonymous and have no file. Who has chosen the memory before, and has not locked it yet, is not
 * waited for: nothing tells of him.
 */
static void begin_known(struct cryo_map_mm *map)
{
	spin_lock(&maps_lock);
	if (!is_known(map->mm))
		cryo_lru_gen_walks(map->mm, false);
	map->number = nr_made++;
	hash_add(maps, &map->node, (unsigned long)map->mm);
	spin_unlock(&maps_lock);
}

static void end_known(struct cryo_map_mm *map)
{
	/* Else it is freed, and the kernel takes it from where it is not. */
	bool used = mmget_not_zero(map->mm);

	spin_lock(&maps_lock);
	hash_del(&map->node);
	if (used && !is_known(map->mm))
		cryo_lru_gen_walks(map->mm, true);
	spin_unlock(&maps_lock);
	if (used)
		mmput_async(map->mm);
}

/* Where it may be waited, and no lock is held. */
void cryo_map_end(struct work_struct *work)
{
	struct cryo_map_mm *map = container_of(work, struct cryo_map_mm, end);

	end_known(map);
	mmu_notifier_unregister(&map->notifier, map->mm);
	mmdrop(map->mm);
	free_map(map);
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

/* The one of @mm, with a reference. NULL: it has none. */
struct cryo_map_mm *cryo_map_of(struct mm_struct *mm)
{
	struct cryo_map_mm *map, *found = NULL;

	spin_lock(&maps_lock);
	hash_for_each_possible(maps, map, node, (unsigned long)mm)
		if (map->mm == mm && kref_get_unless_zero(&map->ref)) {
			found = map;
			break;
		}
	spin_unlock(&maps_lock);
	return found;
}

/* Not known to others yet. */
static struct cryo_map_mm *alloc_map(void)
{
	struct cryo_map_mm *map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);

	if (!map)
		return NULL;
	cryo_use_begin(CRYO_USE_MEMORY);
	kref_init(&map->ref);
	spin_lock_init(&map->lock);
	INIT_LIST_HEAD(&map->vmas);
	INIT_DELAYED_WORK(&map->populate, cryo_map_populate);
	INIT_WORK(&map->end, cryo_map_end);
	map->mm = current->mm;
	map->owner = get_pid(task_tgid(current));
	map->notifier.ops = &notifier_ops;
	map->user = cryo_user_get();
	if (map->user)
		return map;
	free_map(map);
	return NULL;
}

static int add_map(struct cryo_map_mm *map)
{
	int err;

	lockdep_assert_held_write(&map->mm->mmap_lock);
	err = __mmu_notifier_register(&map->notifier, map->mm);
	if (err)
		return err;
	mmgrab(map->mm);
	__module_get(THIS_MODULE);
	begin_known(map);
	return 0;
}

struct cryo_map_mm *cryo_map_make(void)
{
	struct mm_struct *mm = current->mm;
	struct cryo_map_mm *map, *found = cryo_map_of(mm);
	int err;

	if (found)
		return found;
	map = alloc_map();
	if (!map)
		return ERR_PTR(-ENOMEM);
	err = mmap_write_lock_killable(mm);
	if (!err) {
		/* Another thread may have been faster. */
		found = cryo_map_of(mm);
		err = found ? -EEXIST : add_map(map);
		mmap_write_unlock(mm);
	}
	if (!err)
		return map;
	free_map(map);
	return found ?: ERR_PTR(err);
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

static bool has_room(struct cryo_map_mm *map, const struct cryo_map_table *t)
{
	u64 most = cryo_few(table_bytes, MAX_TABLE_BYTES);
	bool room;

	spin_lock(&map->lock);
	room = t->bytes <= most && map->bytes <= most - t->bytes;
	spin_unlock(&map->lock);
	return room;
}

/* Has nothing of it come yet? With mmap_lock. */
static bool is_untouched(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	unsigned long to;

	lockdep_assert_held(&mm->mmap_lock);
	for (; start < end; start = to) {
		if (cryo_page_scan(mm, start, end, PAGE_SIZE, &to) < to)
			return false;
		cond_resched();
	}
	return true;
}

static int add_locked(struct cryo_map_mm *map, struct cryo_map_vma *v, const struct cryo_map *args)
{
	struct vm_area_struct *vma = find_vma(map->mm, args->start);

	lockdep_assert_held_write(&map->mm->mmap_lock);
	/*
	 * A huge page of zeros, which does not need an anon_vma, is nothing for an area with
	 * operations.
	 */
	if (!is_fresh(vma, args) || !is_untouched(map->mm, args->start, args->end))
		return -EINVAL;
	if (map->nr_tables == MAX_TABLES || !has_room(map, v->table))
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

/* All pages of all areas have come. */
void cryo_map_convert(struct cryo_map_mm *map)
{
	struct cryo_map_vma *v, *next;

	lockdep_assert_held_write(&map->mm->mmap_lock);
	list_for_each_entry_safe(v, next, &map->vmas, node) {
		cryo_vma_start_write(map->mm, v->vma->vm_start);
		WRITE_ONCE(v->vma->vm_private_data, NULL);
		vma_set_anonymous(v->vma);
		cryo_khugepaged_enter(v->vma);
		remove_vma(v);
	}
}
