// SPDX-License-Identifier: GPL-2.0-only
/*
 * map_share.c - several restarts from one context have those of its pages in common that none has
 * written to
 *
 * What fork() does for a child, between processes that have the same area of the same context. Such
 * areas have one anon_vma, so that the reverse map finds a page in all of them; and a page that one
 * of them has need not come from the context once more, if it is still what the context has: it is
 * mapped once more. The rules:
 *
 *  - The other process's entry becomes read-only, and its page loses PageAnonExclusive, under the
 *    same conditions as for a snapshot (protect.c), and within mm->write_protect_seq as there.
 *    mmap_lock is held for reading only, so the others who do that, who have it for writing, are
 *    kept out by it, and we by share_lock. The TLB is flushed before the lock of the table is given
 *    back, as in ptep_clear_flush(): a fault must not copy what is still being written to.
 *  - Then the page cannot change, and it is compared with the context's.
 *  - It is mapped with both tables locked, if the other one still maps it: its account as a mapped
 *    page goes on. share_lock keeps two who do that in opposite directions apart.
 *  - The bit that says that the page has come is looked at with the table locked: who drops the
 *    page has set it before, and gets the lock afterwards.
 *  - A large folio, which khugepaged may have made of the other one's pages, is split before, as
 *    KSM does, if one of the pages wanted is what the context has.
 *
 * No mmap_lock is waited for while another one is held, but in cryo_map_lock_to_join(). What cannot
 * be had in common comes from the context.
 */
#include <linux/delay.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/rmap.h>
#include <linux/sched/mm.h>
#include <linux/seqlock.h>
#include <linux/slab.h>

#include <cryo/ioctl.h>

#include "access/switches.h"
#include "capture/page_scan.h"
#include "compat/ksym.h"
#include "compat/mm.h"
#include "cryo_arch.h"
#include "lazy/map.h"
#include "memory/track.h"

#define SHARE_TRIES	8
#define HASTY_TRIES	3
#define SHARE_WAIT_US	100

static DEFINE_SPINLOCK(share_lock);

/* Pages of one table of page tables that are to be had in common. */
struct share_batch {
	struct cryo_map_mm *map;
	struct cryo_map_table *t;
	struct vm_area_struct *vma;	/* ours, while it is locked */
	unsigned long addr;		/* of the first page */
	unsigned long bit;		/* its bit */
	unsigned long pgoff;		/* its number in the anon_vma */
	unsigned int nr;
	unsigned int given;
	unsigned int settled;		/* of these: had no bit */
	struct page *wanted[CRYO_MAP_BATCH];	/* of the context; NULL: not */
	struct page *found[CRYO_MAP_BATCH];	/* of another process; NULL: it has none */
	/* of another process, for the page of number @at: in a large folio; or NULL */
	struct page *large;
	unsigned int at;
	unsigned int seen;	/* large folios of pages before this one have been looked at */
};

static bool is_table(pmd_t pmd)
{
	return !pmd_none(pmd) && pmd_present(pmd) && !pmd_trans_huge(pmd);
}

/* The entry of @mm that leads to the page table of the batch, or NULL. */
static pmd_t *table_of(struct share_batch *b, struct mm_struct *mm)
{
	unsigned long next;
	pmd_t *pmdp = cryo_find_pmd(mm, b->addr, b->addr + b->nr * PAGE_SIZE, &next);

	return pmdp && is_table(READ_ONCE(*pmdp)) ? pmdp : NULL;
}

bool cryo_map_has_table(struct mm_struct *mm, unsigned long addr)
{
	struct share_batch b = { .addr = addr, .nr = 1 };

	return table_of(&b, mm);
}

/*
 * Is there a reference to @folio that is no mapping, through which it might be written to? See
 * protect.c.
 */
static bool has_holder(struct folio *folio)
{
	int refs = folio_ref_count(folio);

	if (folio_test_swapcache(folio))
		refs--;
	return refs > cryo_any_mapcount(folio);
}

/* Would the reverse map find it in an area of that anon_vma? */
static bool is_findable(struct share_batch *b, unsigned int i, struct page *page)
{
	struct folio *folio = page_folio(page);
	unsigned long mapping = (unsigned long)folio->mapping & ~3UL;

	return mapping == (unsigned long)b->vma->anon_vma &&
	       folio->index + folio_page_idx(folio, page) == b->pgoff + i;
}

/* With a lock that keeps it mapped. */
static void note_large(struct share_batch *b, unsigned int i, struct page *page)
{
	if (b->large || i < b->seen)
		return;
	get_page(page);
	b->large = page;
	b->at = i;
}

/* With the lock of the table. */
static bool take_pte(struct share_batch *b, unsigned int i, struct mm_struct *mm, pte_t *pte)
{
	pte_t value = ptep_get(pte);
	struct folio *folio;
	struct page *page;

	if (!pte_present(value) || pte_special(value) || is_zero_pfn(pte_pfn(value)) ||
	    !pfn_valid(pte_pfn(value)))
		return false;
	page = pfn_to_page(pte_pfn(value));
	folio = page_folio(page);
	if (!PageAnon(page) || folio_test_ksm(folio) || !is_findable(b, i, page))
		return false;
	if (folio_test_large(folio)) {
		note_large(b, i, page);
		return false;
	}
	if (pte_write(value))
		ptep_set_wrprotect(mm, b->addr + i * PAGE_SIZE, pte);
	/* The entry, which was changed by an atomic operation, before the references. */
	smp_mb__after_atomic();
	if (!has_holder(folio)) {
		if (PageAnonExclusive(page))
			ClearPageAnonExclusive(page);
		folio_get(folio);
		b->found[i] = page;
	}
	return pte_write(value);
}

/* What @mm has of the pages, protected: a writer gets a copy first. */
static void protect_pages(struct share_batch *b, struct mm_struct *mm, pmd_t *pmdp)
{
	bool stale = false;
	spinlock_t *ptl;	/* of the entries */
	unsigned int i, nr;
	pmd_t pmd;
	pte_t *pte;

	rcu_read_lock();
	pmd = READ_ONCE(*pmdp);
	if (!is_table(pmd))
		goto out;
	pte = pte_offset_kernel(&pmd, b->addr);
	ptl = cryo_ptep_lockptr(mm, pte);
	spin_lock(&share_lock);
	raw_write_seqcount_begin(&mm->write_protect_seq);
	spin_lock(ptl);
	nr = pmd_same(pmd, READ_ONCE(*pmdp)) ? b->nr : 0;
	for (i = 0; i < nr; i++)
		if (b->wanted[i])
			stale |= take_pte(b, i, mm, pte + i);
	/* NUMA balancing takes rights away with mmap_lock for reading, too, and flushes later. */
	if (stale || mm_tlb_flush_pending(mm))
		cryo_arch_flush_tlb(mm);
	spin_unlock(ptl);
	raw_write_seqcount_end(&mm->write_protect_seq);
	spin_unlock(&share_lock);
out:
	rcu_read_unlock();
}

static bool is_equal(struct page *a, struct page *b)
{
	void *at_a = kmap_local_page(a);
	void *at_b = kmap_local_page(b);
	bool equal = !memcmp(at_a, at_b, PAGE_SIZE);

	kunmap_local(at_b);
	kunmap_local(at_a);
	return equal;
}

static void put_pages(struct page **pages, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (pages[i])
			put_page(pages[i]);
		pages[i] = NULL;
	}
}

/* What the other process has written to is its own. */
static bool compare_pages(struct share_batch *b)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < b->nr; i++) {
		if (!b->found[i])
			continue;
		if (is_equal(b->found[i], b->wanted[i])) {
			any = true;
		} else {
			put_page(b->found[i]);
			b->found[i] = NULL;
		}
		cond_resched();
	}
	return any;
}

/* What @mm has there, if that is a huge page. */
static void find_huge(struct share_batch *b, struct mm_struct *mm)
{
	unsigned long next;
	pmd_t *pmdp = cryo_find_pmd(mm, b->addr, b->addr + b->nr * PAGE_SIZE, &next);
	spinlock_t *ptl;	/* of the entries */
	struct page *page;
	pmd_t pmd;

	if (!pmdp || !pmd_trans_huge(READ_ONCE(*pmdp)))
		return;
	ptl = pmd_lock(mm, pmdp);
	pmd = READ_ONCE(*pmdp);
	if (pmd_present(pmd) && pmd_trans_huge(pmd)) {
		page = pfn_to_page(pmd_pfn(pmd)) + ((b->addr & ~HPAGE_PMD_MASK) >> PAGE_SHIFT);
		if (PageAnon(page) && is_findable(b, 0, page))
			note_large(b, 0, page);
	}
	spin_unlock(ptl);
}

/*
 * Is any of the pages [b->at, @end) in the large folio wanted, and what the context has? They may
 * be written to meanwhile, and will be compared again.
 */
static bool is_any_wanted(struct share_batch *b, unsigned int end)
{
	unsigned int i;

	for (i = b->at; i < end; i++) {
		if (b->wanted[i] && is_equal(b->large + (i - b->at), b->wanted[i]))
			return true;
		cond_resched();
	}
	return false;
}

/* The large folio that has been noted, which stays one as long as we have a reference. */
static void split_large(struct share_batch *b)
{
	struct folio *folio = page_folio(b->large);
	unsigned long rest = folio_nr_pages(folio) - folio_page_idx(folio, b->large);
	unsigned int end = min_t(unsigned long, b->nr, b->at + rest);
	unsigned int flags;

	/* Another holder of the lock has plans with it. */
	if (folio_trylock(folio)) {
		if (is_any_wanted(b, end)) {
			/* What that tells our own areas is no drop: is_by_program(). */
			flags = memalloc_noreclaim_save();
			cryo_split_huge_page(b->large);
			memalloc_noreclaim_restore(flags);
		}
		folio_unlock(page_folio(b->large));
	}
	put_page(b->large);
	b->large = NULL;
	b->seen = end;
}

/*
 * What @mm has of the pages, protected; in folios of their own if there may be some that are to be
 * had in common.
 */
static pmd_t *protect_peer_pages(struct share_batch *b, struct mm_struct *mm)
{
	pmd_t *pmdp;

	for (b->seen = 0;; split_large(b)) {
		put_pages(b->found, b->nr);
		pmdp = table_of(b, mm);
		if (pmdp)
			protect_pages(b, mm, pmdp);
		else
			find_huge(b, mm);
		if (!b->large)
			return pmdp;
	}
}

/*
 * With the locks of both tables, in which the entries are. False: one of them is not what it was.
 */
static bool give_pte(struct share_batch *b, unsigned int i, pte_t *from, pte_t *to)
{
	pte_t value = ptep_get(from), entry;
	struct page *page = b->found[i];

	if (!pte_present(value) || pte_write(value) || pte_pfn(value) != page_to_pfn(page) ||
	    PageAnonExclusive(page) || !pte_none(ptep_get(to)) ||
	    test_bit(b->bit + i, b->t->settled))
		return false;
	entry = pte_mksoft_dirty(pte_mkold(pfn_pte(page_to_pfn(page), b->vma->vm_page_prot)));
	if (pte_dirty(value))
		entry = pte_mkdirty(entry);
	get_page(page);
	cryo_dup_anon_rmap(page);
	cryo_arch_set_pte(b->map->mm, b->addr + i * PAGE_SIZE, to, pte_wrprotect(entry));
	/* A task that drops it just now has counted it. */
	b->settled += !test_and_set_bit(b->bit + i, b->t->settled);
	return true;
}

static void give_ptes(struct share_batch *b, pte_t *from, pte_t *to)
{
	unsigned int i, n = 0;

	for (i = 0; i < b->nr; i++)
		if (b->found[i] && give_pte(b, i, from + i, to + i)) {
			put_page(b->wanted[i]);
			b->wanted[i] = NULL;
			n++;
		}
	cryo_add_anon_pages(b->map->mm, n);
	b->given += n;
}

static void give_pages(struct share_batch *b, struct mm_struct *mm, pmd_t *from_pmdp,
		       pmd_t *to_pmdp)
{
	spinlock_t *from_ptl, *to_ptl;	/* of the entries */
	pmd_t from_pmd, to_pmd;
	pte_t *from, *to;

	rcu_read_lock();
	from_pmd = READ_ONCE(*from_pmdp);
	to_pmd = READ_ONCE(*to_pmdp);
	if (!is_table(from_pmd) || !is_table(to_pmd))
		goto out;
	from = pte_offset_kernel(&from_pmd, b->addr);
	to = pte_offset_kernel(&to_pmd, b->addr);
	from_ptl = cryo_ptep_lockptr(mm, from);
	to_ptl = cryo_ptep_lockptr(b->map->mm, to);
	spin_lock(&share_lock);
	spin_lock(from_ptl);
	spin_lock_nested(to_ptl, SINGLE_DEPTH_NESTING);
	if (pmd_same(from_pmd, READ_ONCE(*from_pmdp)) && pmd_same(to_pmd, READ_ONCE(*to_pmdp)))
		give_ptes(b, from, to);
	spin_unlock(to_ptl);
	spin_unlock(from_ptl);
	spin_unlock(&share_lock);
out:
	rcu_read_unlock();
}

/* Where the batch is to go, while our memory is locked; less of it where the area is cut. */
static bool find_own(struct share_batch *b)
{
	struct vm_area_struct *vma = vma_lookup(b->map->mm, b->addr);
	struct cryo_map_vma *v = vma && cryo_map_is_ours(vma) ? vma->vm_private_data : NULL;
	unsigned long page;

	if (!v || v->table != b->t)
		return false;
	page = cryo_map_page_of(v, b->addr);
	if (cryo_map_bit(b->t, page) != b->bit)
		return false;
	b->vma = vma;
	b->pgoff = b->t->base + page;
	b->nr = min_t(unsigned long, b->nr, (vma->vm_end - b->addr) >> PAGE_SHIFT);
	/*
	 * What is executable would have to be made known to processors that do not see it by
	 * themselves.
	 */
	return cryo_map_is_in_place(vma, b->addr, b->pgoff) && vma->vm_flags & VM_READ &&
	       !(vma->vm_flags & VM_EXEC);
}

/* @theirs: of @mm, or NULL. */
static void share_locked(struct share_batch *b, struct mm_struct *mm, struct cryo_map_mm *theirs)
{
	struct vm_area_struct *vma = vma_lookup(mm, b->addr);
	pmd_t *from, *to;

	lockdep_assert_held(&mm->mmap_lock);
	lockdep_assert_held(&b->map->mm->mmap_lock);
	if (!find_own(b) || !vma || vma->anon_vma != b->vma->anon_vma ||
	    !cryo_map_is_in_place(vma, b->addr, b->pgoff) ||
	    !cryo_track_is_lone(NULL, mm, theirs ? &theirs->notifier : NULL))
		return;
	b->nr = min_t(unsigned long, b->nr, (vma->vm_end - b->addr) >> PAGE_SHIFT);
	to = table_of(b, b->map->mm);
	from = to ? protect_peer_pages(b, mm) : NULL;
	if (from && compare_pages(b))
		give_pages(b, mm, from, to);
}

static bool lock_to_read(struct mm_struct *mm, unsigned int tries)
{
	unsigned int i;

	for (i = 0; i < tries; i++) {
		if (i)
			usleep_range(SHARE_WAIT_US, 2 * SHARE_WAIT_US);
		if (mmap_read_trylock(mm))
			return true;
	}
	return false;
}

static void share_with(struct share_batch *b, struct mm_struct *mm, bool patient)
{
	struct cryo_map_mm *theirs = cryo_map_of(mm);
	unsigned int nr = b->nr;

	if (mm != b->map->mm && lock_to_read(mm, patient ? SHARE_TRIES : HASTY_TRIES)) {
		/* A waiter for a page would wait for this lock in any case. */
		if (lock_to_read(b->map->mm, SHARE_TRIES)) {
			share_locked(b, mm, theirs);
			mmap_read_unlock(b->map->mm);
		}
		mmap_read_unlock(mm);
	}
	b->nr = nr;
	put_pages(b->found, nr);
	if (theirs)
		cryo_map_put(theirs);
}

/*
 * Those of the context that have not come; they are there already, as they have just been compared.
 */
static bool want_pages(struct share_batch *b)
{
	struct cryo_map_table_run *run = cryo_map_run_of_bit(b->t, b->bit);
	unsigned long page = run->page + b->bit - run->bit;
	unsigned int i;
	bool any = false;

	if (READ_ONCE(b->t->states[run->chunk]) != CRYO_MAP_GOOD)
		return false;
	for (i = 0; i < b->nr; i++) {
		if (test_bit(b->bit + i, b->t->settled))
			continue;
		b->wanted[i] = cryo_map_page(b->t, run, page + i);
		if (IS_ERR(b->wanted[i]))
			b->wanted[i] = NULL;
		any |= !!b->wanted[i];
	}
	return any;
}

/*
 * @nr pages from @addr on, whose bit is @bit, in one run and in one table of page tables, at most
 * CRYO_MAP_BATCH: those of them that others have come into the memory of @map. Without locks;
 * @patient: nobody waits. A bit tells of each whether it has come.
 */
void cryo_map_share(struct cryo_map_mm *map, struct cryo_map_table *t, unsigned long bit,
		    unsigned long addr, unsigned int nr, bool patient)
{
	struct pid *peers[CRYO_MAP_PEERS];
	struct mm_struct *mm;
	struct share_batch *b;
	unsigned int n, i;

	if (!cryo_has(CRYO_FEATURE_SHARE))
		return;
	b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!b)
		return;
	b->map = map;
	b->t = t;
	b->addr = addr;
	b->bit = bit;
	b->nr = nr;
	n = cryo_map_find_peers(map, &t->key, peers);
	if (n && want_pages(b)) {
		for (i = 0; i < n && b->given < nr; i++) {
			mm = cryo_map_memory_of(peers[i]);
			if (!mm)
				continue;
			share_with(b, mm, patient);
			mmput_async(mm);
		}
		put_pages(b->wanted, nr);
	}
	cryo_map_note_settled(map, t, b->settled);
	cryo_map_put_peers(peers, n);
	kfree(b);
}
