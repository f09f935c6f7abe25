// SPDX-License-Identifier: GPL-2.0-only
/*
 * used.c - which private anonymous pages a process has used since the checkpoint before
 *
 * Processors note in page tables which pages they have used. Each capture takes that note away, so
 * that the next one finds what was used since; at the first one, most of all is. A restart brings
 * these pages first.
 *
 * It is a hint, and may be wrong in both directions: reclaim takes the notes away, too, and a page
 * that comes from the swap counts as used although it was us who wanted it. Nor does it matter that
 * a capture which fails, or goes nowhere, has taken them. What is at stake is the order in which
 * pages come, never what is in them.
 *
 * Reclaim wants to know it as well: it finds in the folio what is no longer in the page table, in
 * the same way as from page_idle.c. (Where the kernel is built without page idle tracking, such as
 * Debian's 6.1, it has no place for that, and reclaim sees a page as unused until it is used
 * again.)
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/page_idle.h>
#include <linux/sort.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "capture/page_scan.h"
#include "compat/mm.h"
#include "cryo_arch.h"
#include "lib/buf.h"
#include "memory/memory.h"
#include "memory/used.h"

/* ---- page tables ---- */

static unsigned int index_of(unsigned long addr)
{
	return (addr & ~PMD_MASK) >> PAGE_SHIFT;
}

static void tell_reclaim(struct folio *folio)
{
	if (folio_test_idle(folio))
		folio_clear_idle(folio);
	if (!folio_test_young(folio))
		folio_set_young(folio);
}

/*
 * With the lock of the table: has the process used @page, which is anonymous, and where @pte is?
 * Then processors must look at the entry again to note the next use: the caller sees to that.
 */
bool cryo_used_pte(struct cryo_used_table *t, pte_t *pte, unsigned long addr, struct page *page)
{
	if (!cryo_arch_pte_clear_young(pte, addr)) {
		t->others = true;
		return false;
	}
	__set_bit(index_of(addr), t->pages);
	tell_reclaim(page_folio(page));
	return true;
}

static u64 end_of(const struct cryo_page_run *run)
{
	return run->start + run->nr_pages * PAGE_SIZE;
}

static struct cryo_page_run *last_run(const struct cryo_used *u)
{
	return u->runs.len ? (struct cryo_page_run *)(u->runs.data + u->runs.len) - 1 : NULL;
}

/* pmd_page(), which is not exported everywhere. */
static struct page *page_of(pmd_t pmd)
{
	return pfn_to_page(pmd_pfn(pmd));
}

/*
 * The same of a huge page, from @addr to @end. It has one note, which is gone if its beginning has
 * been looked at: then what that was, this is.
 */
bool cryo_used_huge(const struct cryo_used *u, struct cryo_used_table *t, pmd_t *pmd,
		    unsigned long addr, unsigned long end)
{
	const struct cryo_page_run *last = last_run(u);
	bool young = cryo_arch_pmd_clear_young(pmd);

	if (young)
		tell_reclaim(page_folio(page_of(READ_ONCE(*pmd))));
	if (young || (addr & ~HPAGE_PMD_MASK && last && last->start < addr && end_of(last) >= addr))
		bitmap_set(t->pages, index_of(addr), (end - addr) >> PAGE_SHIFT);
	else
		t->others = true;
	return young;
}

static void look_at_pte(struct cryo_used_table *t, pte_t *pte, unsigned long addr)
{
	pte_t value = ptep_get(pte);
	struct page *page;

	if (!pte_present(value) || is_zero_pfn(pte_pfn(value)) || pte_special(value) ||
	    !pfn_valid(pte_pfn(value)))
		return;
	page = pfn_to_page(pte_pfn(value));
	if (!PageAnon(page))
		return;
	if (t)
		cryo_used_pte(t, pte, addr, page);
	else
		cryo_arch_pte_clear_young(pte, addr);
}

/* Without @t: what is noted is of no interest. */
static void look_at_ptes(struct cryo_used_table *t, struct mm_struct *mm, pmd_t *pmdp,
			 unsigned long addr, unsigned long end)
{
	spinlock_t *ptl;	/* of the entries */
	pmd_t pmd;
	pte_t *pte;

	rcu_read_lock();
	pmd = READ_ONCE(*pmdp);
	/* Should it have become another one since: nobody has been noted then. */
	if (!pmd_present(pmd) || pmd_trans_huge(pmd))
		goto out;
	pte = pte_offset_kernel(&pmd, addr);
	ptl = cryo_ptep_lockptr(mm, pte);
	spin_lock(ptl);
	if (pmd_same(pmd, READ_ONCE(*pmdp)))
		for (; addr < end; addr += PAGE_SIZE)
			look_at_pte(t, pte++, addr);
	spin_unlock(ptl);
out:
	rcu_read_unlock();
}

static void look_at_huge(const struct cryo_used *u, struct cryo_used_table *t,
			 struct mm_struct *mm, pmd_t *pmdp, unsigned long addr, unsigned long end)
{
	spinlock_t *ptl = pmd_lock(mm, pmdp);
	pmd_t pmd = READ_ONCE(*pmdp);

	if (pmd_present(pmd) && pmd_trans_huge(pmd) && PageAnon(page_of(pmd))) {
		if (u)
			cryo_used_huge(u, t, pmdp, addr, end);
		else
			cryo_arch_pmd_clear_young(pmdp);
	}
	spin_unlock(ptl);
}

/*
 * What has been used of [@start, @end), all of which is private anonymous memory. @u NULL: forget
 * what is noted; it was us.
 */
void cryo_used_look(struct cryo_used *u, struct mm_struct *mm, unsigned long start,
		    unsigned long end)
{
	struct cryo_used_table t = {};
	unsigned long next;
	pmd_t *pmdp, pmd;

	lockdep_assert_held(&mm->mmap_lock);
	for (; start < end; start = next) {
		pmdp = cryo_find_pmd(mm, start, end, &next);
		pmd = pmdp ? READ_ONCE(*pmdp) : __pmd(0);
		if (pmd_none(pmd))
			continue;
		if (pmd_trans_huge(pmd))
			look_at_huge(u, &t, mm, pmdp, start, next);
		else
			look_at_ptes(u ? &t : NULL, mm, pmdp, start, next);
		if (u)
			cryo_used_keep(u, &t, start);
	}
}

/* ---- what has been found ---- */

#define MOST	(CRYO_USED_MAX_RUNS * sizeof(struct cryo_page_run))	/* bytes */

void cryo_used_free(struct cryo_used *u)
{
	cryo_buf_free(&u->runs);
	memset(u, 0, sizeof(*u));
}

static int compare_runs(const void *a, const void *b)
{
	const struct cryo_page_run *first = a, *second = b;

	return first->start < second->start ? -1 : first->start > second->start;
}

/* Those that touch, overlap, or are no farther apart than the gap, become one. */
static void join_runs(struct cryo_used *u)
{
	struct cryo_page_run *runs = (struct cryo_page_run *)u->runs.data, *last = runs;
	size_t i, nr = u->runs.len / sizeof(*runs);

	if (!nr)
		return;
	if (u->unsorted)
		sort(runs, nr, sizeof(*runs), compare_runs, NULL);
	u->unsorted = false;
	for (i = 1; i < nr; i++) {
		if (runs[i].start > end_of(last) + u->gap)
			*++last = runs[i];
		else if (end_of(&runs[i]) > end_of(last))
			last->nr_pages = (end_of(&runs[i]) - last->start) / PAGE_SIZE;
	}
	u->runs.len = (last + 1 - runs) * sizeof(*runs);
}

/*
 * There is no room for more: pages that lie between two used ones count as used, until half of it
 * is free.
 */
static void coarsen_runs(struct cryo_used *u)
{
	while (u->runs.len > MOST / 2) {
		u->gap = max(2 * u->gap, PAGE_SIZE);
		join_runs(u);
		cond_resched();
	}
}

static void add_run(struct cryo_used *u, unsigned long start, unsigned int nr_pages)
{
	struct cryo_page_run run = { .start = start, .nr_pages = nr_pages };
	struct cryo_page_run *last = last_run(u);

	if (last && start >= last->start && start <= end_of(last) + u->gap) {
		last->nr_pages = max_t(u64, last->nr_pages,
				       (start - last->start) / PAGE_SIZE + nr_pages);
		return;
	}
	u->unsorted |= last && start < last->start;
	if (u->runs.len == MOST)
		coarsen_runs(u);
	/* An error stays in the buffer, and nothing is said about this memory. */
	cryo_buf_put(&u->runs, &run, sizeof(run));
}

/* The lock of the table, which @addr is in, has been given back. */
void cryo_used_keep(struct cryo_used *u, struct cryo_used_table *t, unsigned long addr)
{
	unsigned int from, to;

	for_each_set_bitrange(from, to, t->pages, MAX_PTRS_PER_PTE)
		add_run(u, (addr & PMD_MASK) + from * PAGE_SIZE, to - from);
	u->others |= t->others;
	memset(t, 0, sizeof(*t));
}

static int save_some(struct cryo_capture *c, struct cryo_proc *p, const struct cryo_page_run *runs,
		     unsigned int n)
{
	struct cryo_array head = { .count = n, .record_size = sizeof(*runs) };
	struct cryo_buf buf = {};

	cryo_buf_put(&buf, &head, sizeof(head));
	cryo_buf_put(&buf, runs, n * sizeof(*runs));
	return cryo_stream_buf(&c->stream, CRYO_SEC_PAGES_USED, p->mm_id, sizeof(head), &buf);
}

int cryo_save_used(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_used *u = &p->used;
	const struct cryo_page_run *runs;
	unsigned int left, n;
	int err = 0;

	join_runs(u);
	runs = (const struct cryo_page_run *)u->runs.data;
	left = u->others && !u->runs.error ? u->runs.len / sizeof(*runs) : 0;
	for (; !err && left; left -= n, runs += n) {
		n = min_t(unsigned int, left, CRYO_USED_MAX);
		err = save_some(c, p, runs, n);
	}
	cryo_used_free(u);
	return err;
}
