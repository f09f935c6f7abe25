// SPDX-License-Identifier: GPL-2.0-only
/*
 * map_populate.c - how pages come from the context into their areas
 *
 * By faults that are made for them, with mmap_lock for writing: so nobody drops a page that is just
 * coming. The bytes of a chunk are read and compared before, without the lock.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include <cryo/format.h>

#include "compat/mm.h"
#include "lazy/lazy.h"
#include "lazy/map.h"
#include "memory/used.h"
#include "request/request.h"

/* that come with one that was asked for; twice as many each time that it goes on behind them */
#define AROUND	16
/* ... at most; the next one that is asked for is likely to be one of so many behind it */
#define NEAR	CRYO_PAGES_MAX

#define PATIENCE_US	200

#define TURN	32	/* steps in the background, then it is another memory's turn */
#define LOCK_TRIES	16	/* then, too */
/* until it is asked again whether others' pages have come, or a lock can be had */
#define OTHERS_MS	10

struct workqueue_struct *cryo_map_queue;
static struct workqueue_struct *populate_queue;

/*
 * Of many processes that go on together, all want the processors, and their pages are not to take
 * more than half.
 */
int cryo_map_init(void)
{
	populate_queue = alloc_workqueue("cryo-populate", WQ_UNBOUND,
					 max(num_online_cpus() / 2, 1U));
	if (!populate_queue)
		return -ENOMEM;
	cryo_map_queue = alloc_workqueue("cryo-map", WQ_UNBOUND, 0);
	if (cryo_map_queue)
		return 0;
	destroy_workqueue(populate_queue);
	return -ENOMEM;
}

void cryo_map_exit(void)
{
	destroy_workqueue(populate_queue);
	destroy_workqueue(cryo_map_queue);
	cryo_map_places_exit();
}

/* What comes next in the background. */
struct populate_choice {
	struct cryo_map_vma *v;
	unsigned long bit;
	unsigned long addr;		/* of its page */
	unsigned long most;		/* pages to come with it, at most */
	unsigned long ahead;		/* as of cryo_map_look_ahead() */
};

static unsigned long address_of_bit(struct cryo_map_vma *v, unsigned long bit, unsigned long start)
{
	struct cryo_map_table_run *run = cryo_map_run_of_bit(v->table, bit);

	return start + ((run->page + bit - run->bit - cryo_map_page_of(v, start)) << PAGE_SHIFT);
}

/* Of the bits from @from on: before which one there is nothing to be looked for? */
static unsigned long skip_bits(const struct cryo_map_cursor *cursor, unsigned long from)
{
	return cursor->from == from ? max(cursor->next, from) : from;
}

/* Of [start, end) of @v: the first page that has not come. */
static bool find_missing(struct cryo_map_vma *v, unsigned long start, unsigned long end,
			 unsigned long *bit, unsigned long *addr)
{
	unsigned long page = cryo_map_page_of(v, start);
	unsigned long from = cryo_map_bit(v->table, page);
	unsigned long last = cryo_map_bit(v->table, page + ((end - start) >> PAGE_SHIFT));

	*bit = find_next_zero_bit(v->table->settled, last, skip_bits(&v->all, from));
	v->all = (struct cryo_map_cursor){ .from = from, .next = *bit };
	if (*bit >= last)
		return false;
	*addr = address_of_bit(v, *bit, start);
	return true;
}

/* The first of the pages of @v that come before others and have not come. */
static bool find_first(struct cryo_map_vma *v, struct populate_choice *next)
{
	struct cryo_map_table *t = v->table;
	unsigned long page = cryo_map_page_of(v, v->vma->vm_start);
	unsigned long from = cryo_map_bit(t, page);
	unsigned long last = cryo_map_bit(t, page + vma_pages(v->vma));
	unsigned long bit = skip_bits(&v->first, from), end;
	bool found = false;

	while (!found && (bit = cryo_map_first_from(t, bit, &end)) < last) {
		end = min(end, last);
		bit = find_next_zero_bit(t->settled, end, bit);
		found = bit < end;
	}
	v->first = (struct cryo_map_cursor){ .from = from, .next = min(bit, last) };
	if (found)
		*next = (struct populate_choice){
			.v = v, .bit = bit, .addr = address_of_bit(v, bit, v->vma->vm_start),
			.most = end - bit, .ahead = bit,
		};
	return found;
}

static bool choose_first(struct cryo_map_mm *map, struct populate_choice *next)
{
	struct cryo_map_vma *v;

	if (map->first_over)
		return false;
	list_for_each_entry(v, &map->vmas, node)
		if (v->table->nr_first && find_first(v, next))
			return true;
	map->first_over = true;
	return false;
}

/*
 * The first one behind what the process has used last, in the same area; @most: no farther away
 * than so many.
 */
static bool choose_behind(struct cryo_map_mm *map, unsigned long most, struct populate_choice *next)
{
	struct cryo_map_vma *v = map->used;
	struct vm_area_struct *vma;
	unsigned long page, bit, last;

	if (!v)
		return false;
	vma = v->vma;
	page = cryo_map_page_of(v, vma->vm_start);
	last = cryo_map_bit(v->table, page + vma_pages(vma));
	/* The area may have been cut since. */
	bit = max(v->used, cryo_map_bit(v->table, page));
	if (bit >= last)
		return false;
	last = bit + min(last - bit, most);
	bit = find_next_zero_bit(v->table->settled, last, bit);
	if (bit >= last)
		return false;
	*next = (struct populate_choice){
		.v = v, .bit = bit, .addr = address_of_bit(v, bit, vma->vm_start),
		.most = last - bit, .ahead = v->table->bits,
	};
	return true;
}

static bool choose_any(struct cryo_map_mm *map, struct populate_choice *next)
{
	struct cryo_map_vma *v;

	list_for_each_entry(v, &map->vmas, node) {
		if (!find_missing(v, v->vma->vm_start, v->vma->vm_end, &next->bit, &next->addr))
			continue;
		next->v = v;
		next->most = ULONG_MAX;
		next->ahead = v->table->bits;
		return true;
	}
	return false;
}

/*
 * What comes next in the background: what is right behind the last page that the process had to
 * wait for, as it may go on there; then what it had used before the checkpoint, by address; then
 * what is farther behind that last page; else the rest, by address. False: nothing is missing.
 */
static bool choose_next(struct cryo_map_mm *map, struct populate_choice *next)
{
	if (choose_behind(map, NEAR, next) || choose_first(map, next) ||
	    choose_behind(map, ULONG_MAX, next))
		return true;
	map->used = NULL;
	return choose_any(map, next);
}

/*
 * A page comes into @vma, to be anonymous memory that the process may write to. A guard
 * (MADV_GUARD_INSTALL) stays: who has put it there has thrown away what was to come.
 */
static int load_page(struct vm_area_struct *vma, unsigned long addr, unsigned int flags)
{
	vm_fault_t ret = handle_mm_fault(vma, addr, flags | FAULT_FLAG_REMOTE, NULL);

	if (!(ret & VM_FAULT_ERROR) || ret & VM_FAULT_SIGSEGV)
		return 0;
	return ret & VM_FAULT_OOM ? -ENOMEM : -EFAULT;
}

/*
 * A worker has no control group: page tables and lists are charged as the pages are, to where the
 * process was.
 */
static bool charge_worker(const struct cryo_map_table *t, struct mem_cgroup **before)
{
	if (!(current->flags & PF_KTHREAD))
		return false;
	*before = set_active_memcg(t->memcg);
	return true;
}

/* Some of the pages from @addr on, whose bit is @bit; returns how many. */
static long load_some(struct cryo_map_vma *v, unsigned long bit, unsigned long addr,
		      unsigned long end, unsigned long most)
{
	struct cryo_map_table_run *run = cryo_map_run_of_bit(v->table, bit);
	unsigned long last, settled = 0;
	struct mem_cgroup *before;
	bool charged;
	int err = 0;
	long n = 0;

	lockdep_assert_held_write(&v->map->mm->mmap_lock);
	/* What follows it in the table may be in another area, with other rights. */
	if (addr >= end)
		return 0;
	last = bit + min3((end - addr) >> PAGE_SHIFT, run->bit + run->nr_pages - bit, most);
	last = find_next_bit(v->table->settled, last, bit);
	v->settles = true;
	charged = charge_worker(v->table, &before);
	for (; bit < last && !err; bit++, addr += PAGE_SIZE) {
		err = load_page(v->vma, addr, FAULT_FLAG_WRITE);
		if (!err) {
			settled += !test_and_set_bit(bit, v->table->settled);
			n++;
		}
	}
	if (charged)
		set_active_memcg(before);
	v->settles = false;
	cryo_map_note_settled(v->map, v->table, settled);
	return n ?: err;
}

/*
 * All pages of [start, end), which is inside of @vma. The bytes are read and compared under
 * mmap_lock, too, where that has not been done.
 */
int cryo_map_load(struct vm_area_struct *vma, unsigned long start, unsigned long end)
{
	struct cryo_map_vma *v = vma->vm_private_data;
	unsigned long bit, addr;
	long n;

	cryo_vma_start_write(vma->vm_mm, vma->vm_start);
	while (find_missing(v, start, end, &bit, &addr)) {
		n = load_some(v, bit, addr, end, CRYO_MAP_BATCH);
		if (n < 0)
			return n;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static int give_missing(struct vm_area_struct *child, struct cryo_map_vma *v)
{
	unsigned long page = cryo_map_page_of(v, child->vm_start);
	unsigned long last = cryo_map_bit(v->table, page + vma_pages(child));
	unsigned long bit = cryo_map_bit(v->table, page);
	struct cryo_map_table_run *run;
	unsigned long addr;
	int err;

	for (; (bit = find_next_zero_bit(v->table->settled, last, bit)) < last; bit++) {
		run = cryo_map_run_of_bit(v->table, bit);
		addr = child->vm_start + ((run->page + bit - run->bit - page) << PAGE_SHIFT);
		err = load_page(child, addr, 0);
		if (err)
			return err;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/*
 * What has not come of @v comes into @child, which is the same area of a child, still with
 * operations of ours; what it has already stays. Both mmap_locks are held for writing.
 */
int cryo_map_give(struct vm_area_struct *child, struct cryo_map_vma *v)
{
	int err;

	lockdep_assert_held_write(&v->map->mm->mmap_lock);
	/* They come to the child only. */
	v->settles = true;
	err = give_missing(child, v);
	v->settles = false;
	return err;
}

/* How many pages come with @bit: more when all is there between those that came last and it. */
static unsigned long next_window(const struct cryo_map_vma *v, unsigned long bit)
{
	if (bit < v->used || bit - v->used > NEAR ||
	    find_next_zero_bit(v->table->settled, bit, v->used) < bit)
		return AROUND;
	return clamp_t(unsigned long, 2 * v->window, AROUND, NEAR);
}

/* Pages in one table of page tables that others may have. */
struct populate_share {
	struct cryo_map_table *t;	/* NULL: there are none */
	unsigned long bit;
	unsigned long addr;
	unsigned long nr;
};

static void may_share(struct populate_share *s, struct cryo_map_table *t, unsigned long bit,
		      unsigned long addr, unsigned long most)
{
	struct cryo_map_table_run *run = cryo_map_run_of_bit(t, bit);
	unsigned long room = (PMD_SIZE - (addr & ~PMD_MASK)) >> PAGE_SHIFT;

	*s = (struct populate_share){
		.t = t,
		.bit = bit,
		.addr = addr,
		.nr = min3(run->bit + run->nr_pages - bit, most, min(room, CRYO_MAP_BATCH)),
	};
}

/* Of the pages that come with the one of @addr. */
struct populate_window {
	unsigned long bit;
	unsigned long end;		/* the bit after them; 0: not known yet */
};

static void find_window(struct cryo_map_vma *v, struct populate_window *w, u32 chunk,
			unsigned long addr)
{
	struct cryo_map_table *t = v->table;
	struct cryo_map_table_run *run;

	w->bit = cryo_map_bit(t, cryo_map_page_of(v, addr));
	w->end = w->bit;
	v->used = w->bit;
	if (test_bit(w->bit, t->settled))
		return;
	v->window = next_window(v, w->bit);
	if (v->window > AROUND)
		cryo_map_look_ahead(t, chunk, t->bits);
	run = cryo_map_run_of_bit(t, w->bit);
	w->end += min(v->window, run->bit + run->nr_pages - w->bit);
}

/*
 * Some of those of the window that have not come. If others may have them, only the first one, and
 * that only if it has no table of page tables, without which nothing can be had in common; the rest
 * is for @share (NULL: none is).
 */
static long load_window(struct cryo_map_mm *map, struct cryo_map_vma *v, struct populate_window *w,
			unsigned long addr, struct populate_share *share)
{
	struct cryo_map_table *t = v->table;
	unsigned long bit = find_next_zero_bit(t->settled, w->end, w->bit);
	unsigned long most = w->end - bit;
	long n = 0;

	lockdep_assert_held_write(&map->mm->mmap_lock);
	addr += (bit - w->bit) << PAGE_SHIFT;
	if (bit < w->end && share && cryo_map_has_peers(map, t)) {
		most = cryo_map_has_table(map->mm, addr) ? 0 : 1;
		if (w->end - bit > most)
			may_share(share, t, bit + most, addr + (most << PAGE_SHIFT),
				  w->end - bit - most);
	}
	if (most && bit < w->end)
		n = load_some(v, bit, addr, v->vma->vm_end, most);
	v->used = bit + max(n, 0L);
	return min(n, 0L);
}

/* The page of @addr, and some after it. Without a lock; @waits: the process, for this page. */
static long load_locked(struct cryo_map_mm *map, struct cryo_map_table *t, u32 chunk,
			unsigned long addr, bool waits, struct populate_window *w,
			 struct populate_share *share)
{
	struct vm_area_struct *vma;
	struct cryo_map_vma *v;
	long err = 0;

	if (mmap_write_lock_killable(map->mm))
		return -EINTR;
	vma = vma_lookup(map->mm, addr);
	v = vma && cryo_map_is_ours(vma) ? vma->vm_private_data : NULL;
	if (v && v->table == t) {
		cryo_vma_start_write(map->mm, addr);
		if (!w->end)
			find_window(v, w, chunk, addr);
		err = load_window(map, v, w, addr, share);
		if (waits)
			map->used = v;
	}
	mmap_write_unlock(map->mm);
	return err;
}

int cryo_map_load_around(struct cryo_map_mm *map, struct cryo_map_table *t, u32 chunk,
			 unsigned long addr, bool waits)
{
	struct populate_window w = { };
	struct populate_share share = { };
	int err;

	err = cryo_map_verify(t, chunk) ?:
	      load_locked(map, t, chunk, addr, waits, &w, &share);
	if (err || !share.t)
		return err;
	cryo_map_share(map, t, share.bit, share.addr, share.nr, false);
	w.end = share.bit + share.nr;
	return load_locked(map, t, chunk, addr, waits, &w, NULL);
}

enum populate_step {
	DONE,
	MORE,
	LATER,				/* another task has what is needed */
};

/*
 * How many pages are to come from the context next, and not from others who may have them? With
 * *@share filled in, the others are to be asked before. That takes a table of page tables, which
 * comes with a first page.
 */
static unsigned long pages_alone(struct cryo_map_mm *map, const struct populate_choice *next,
				 struct populate_share *share)
{
	struct cryo_map_table *t = next->v->table;
	unsigned long most = min_t(unsigned long, next->most, CRYO_MAP_BATCH);

	if (!cryo_map_has_peers(map, t))
		return most;
	if (next->bit >= t->tried.start && next->bit < t->tried.end)
		return min(most, t->tried.end - next->bit);
	if (!cryo_map_has_table(map->mm, next->addr))
		return 1;
	may_share(share, t, next->bit, next->addr, most);
	t->tried = (struct cryo_map_bits){ .start = next->bit, .end = next->bit + share->nr };
	cryo_map_table_get(t);
	return most;
}

/*
 * Some more pages of any area; when there are none left, the areas become ordinary ones. Returns a
 * step, or an error. @verify: a chunk to be compared first, with a reference to its table. @share:
 * what others are to be asked for, likewise.
 */
static int load_more(struct cryo_map_mm *map, struct cryo_map_table **verify, u32 *chunk,
		     struct populate_share *share, bool waits)
{
	struct cryo_map_table *t;
	struct populate_choice next;
	unsigned long most;
	long n;

	lockdep_assert_held_write(&map->mm->mmap_lock);
	if (!choose_next(map, &next)) {
		cryo_map_convert(map);
		return DONE;
	}
	t = next.v->table;
	*chunk = cryo_map_run_of_bit(t, next.bit)->chunk;
	/*
	 * Where the worker could not get memory, the process has to have its lock, for its faults
	 * or to exit.
	 */
	if (!waits && !cryo_map_has_room(t))
		return -ENOMEM;
	cryo_map_look_ahead(t, *chunk, next.ahead);
	if (!cryo_map_is_known(t, *chunk)) {
		cryo_map_table_get(t);
		*verify = t;
		return MORE;
	}
	most = pages_alone(map, &next, share);
	if (share->t)
		return MORE;
	cryo_vma_start_write(map->mm, next.v->vma->vm_start);
	n = load_some(next.v, next.bit, next.addr, next.v->vma->vm_end, most);
	if (n < 0)
		return n;
	/* That was not the process, see used.c. */
	cryo_used_look(NULL, map->mm, next.addr, next.addr + n * PAGE_SIZE);
	return MORE;
}

/*
 * A process that waits for a page needs the lock more than who brings others, and brings what it
 * needs next itself.
 */
static int lock_politely(struct mm_struct *mm)
{
	if (rwsem_is_locked(&mm->mmap_lock))
		usleep_range(PATIENCE_US, 2 * PATIENCE_US);
	return mmap_write_lock_killable(mm);
}

/*
 * The same in the background, which all users have in common: nobody is waited for there, as a
 * process may see to it that its lock is held for as long as it likes.
 */
static bool lock_if_free(struct mm_struct *mm)
{
	unsigned int i;

	for (i = 0; i < LOCK_TRIES; i++) {
		if (i)
			usleep_range(PATIENCE_US, 2 * PATIENCE_US);
		if (cryo_mmap_write_trylock(mm))
			return true;
	}
	return false;
}

/* @waits: for locks, and for others who compare what is wanted. */
static int one_step(struct cryo_map_mm *map, bool waits)
{
	struct cryo_map_table *verify = NULL;
	struct populate_share share = { };
	struct mem_cgroup *before;
	bool charged;
	u32 chunk = 0;
	int ret, err = 0;

	if (!waits && !lock_if_free(map->mm))
		return LATER;
	if (waits && lock_politely(map->mm))
		return -EINTR;
	ret = load_more(map, &verify, &chunk, &share, waits);
	mmap_write_unlock(map->mm);
	if (share.t) {
		charged = charge_worker(share.t, &before);
		cryo_map_share(map, share.t, share.bit, share.addr, share.nr, true);
		if (charged)
			set_active_memcg(before);
		cryo_map_table_put(share.t);
	}
	if (!verify)
		return ret;
	if (!waits && READ_ONCE(verify->states[chunk]) == CRYO_MAP_BUSY)
		ret = LATER;
	else
		err = cryo_map_verify(verify, chunk);
	cryo_map_table_put(verify);
	return err ?: ret;
}

/* What is just coming into the memory of another process can be had in common when it has come. */
static bool waits_for_others(struct cryo_map_mm *map)
{
	bool waits;

	if (!mmget_not_zero(map->mm))
		return false;
	waits = cryo_map_comes_elsewhere(map);
	mmput_async(map->mm);
	return waits;
}

/*
 * In the background, for as long as the memory has users. When something is in the way (memory is
 * short, the context is damaged) pages come only when they are used.
 */
void cryo_map_populate(struct work_struct *work)
{
	struct cryo_map_mm *map = container_of(work, struct cryo_map_mm, populate.work);
	int step = MORE, n;

	/* Each time that it is queued it has a reference. */
	if (waits_for_others(map) &&
	    queue_delayed_work(populate_queue, &map->populate, msecs_to_jiffies(OTHERS_MS)))
		return;
	for (n = 0; n < TURN && step == MORE && mmget_not_zero(map->mm); n++) {
		step = one_step(map, false);
		/* Not here: it may be the last one, and the areas would go in the middle of it. */
		mmput_async(map->mm);
		cond_resched();
	}
	if (step == LATER && queue_delayed_work(populate_queue, &map->populate,
						msecs_to_jiffies(OTHERS_MS)))
		return;
	if (n == TURN && step == MORE && queue_delayed_work(populate_queue, &map->populate, 0))
		return;
	cryo_map_note_coming(map, false);
	cryo_map_put(map);
}

/* All pages of @map have come: its areas become ordinary ones. Takes the caller's reference. */
void cryo_map_convert_later(struct cryo_map_mm *map)
{
	if (!queue_delayed_work(populate_queue, &map->populate, 0))
		cryo_map_put(map);
}

/*
 * Before a checkpoint looks at it: all pages come. The caller has the mm. As long as @req goes on,
 * and somebody else has the memory, too (-ESRCH: it is only filled for us).
 */
int cryo_map_complete(struct cryo_request *req, struct mm_struct *mm)
{
	struct cryo_map_mm *map = cryo_map_of(mm);
	int step = MORE;

	if (!map)
		return 0;
	while (step == MORE) {
		step = one_step(map, true);
		if (step == MORE)
			step = cryo_request_interrupted(req) ?:
			       (atomic_read(&mm->mm_users) == 1 ? -ESRCH : MORE);
		cond_resched();
	}
	cryo_map_put(map);
	return step < 0 ? step : 0;
}

void cryo_map_start(void)
{
	struct cryo_map_mm *map = cryo_map_of(current->mm);

	if (!map)
		return;
	if (READ_ONCE(map->populates)) {
		cryo_map_note_coming(map, true);
		if (queue_delayed_work(populate_queue, &map->populate, 0))
			return;
	}
	cryo_map_put(map);
}
