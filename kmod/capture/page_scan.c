// SPDX-License-Identifier: GPL-2.0-only
/*
 * page_scan.c - find the pages that a process has touched
 *
 * An open-coded walk with the inline helpers of the page tables: walk_page_range()
 * is not exported, and get_user_pages() takes one call for each hole of a page,
 * minutes for a reservation of a terabyte. Empty tables are skipped whole, at
 * each level.
 *
 * Page tables are freed under RCU or with mmap_lock held for writing; the walk holds the lock for
 * reading and is in an RCU read-side section while it looks at the lowest level. Those in which
 * there is no area, munmap() frees with the lock for reading: so the walk keeps to areas. What it
 * finds is a hint: get_user_pages() decides.
 *
 * Pages of hugetlbfs have entries at the level of their size, or several of the level below; those
 * of an absent one are empty. To ask get_user_pages() for it would take one from those that are
 * free.
 */
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>

#include "capture/capture.h"
#include "capture/page_scan.h"
#include "compat/swapops.h"

/*
 * One table of page tables after the other, of 1 GiB where pages are of 4 KiB, takes a millisecond
 * or so.
 */
#define SCAN_ENTRIES	((long)(SZ_1G >> PAGE_SHIFT))

struct page_scan {
	unsigned long from;	/* start of the range, when @found */
	unsigned long to;	/* its end */
	unsigned long limit;	/* bytes, at most */
	long left;		/* entries that may be looked at */
	unsigned long stopped;	/* where there were no more of these; 0: there were */
	bool found;
	bool guards;		/* is looked for, instead */
	unsigned long huge;	/* bytes of its pages, if these are of hugetlbfs; else 0 */
};

/* Is the page of an entry looked for?  A guard is none that has been touched. */
static bool is_wanted(const struct page_scan *s, pte_t value)
{
	if (pte_none(value))
		return false;
	if (cryo_pte_guard(value))
		return s->guards;
	return !s->guards && !(pte_present(value) && is_zero_pfn(pte_pfn(value)));
}

/* A touched range begins or goes on. False: the scan is over. */
static bool scan_present(struct page_scan *s, unsigned long start, unsigned long end)
{
	if (!s->found) {
		s->from = start;
		s->to = end;
		s->found = true;
	} else if (s->to != start) {
		return false;
	} else {
		s->to = end;
	}
	return s->to - s->from < s->limit;
}

/*
 * Before the entry for @start: has there been enough of it? What has no tables at all is passed
 * over in a moment.
 */
static bool should_yield(struct page_scan *s, unsigned long start)
{
	if (s->left-- > 0)
		return false;
	s->stopped = start;
	return true;
}

static bool scan_ptes(struct page_scan *s, pmd_t pmd, unsigned long start, unsigned long end)
{
	pte_t *pte = pte_offset_kernel(&pmd, start);
	bool more = true;
	pte_t value;

	s->left -= (end - start) >> PAGE_SHIFT;
	for (; more && start < end; pte++, start += PAGE_SIZE) {
		value = ptep_get(pte);
		if (is_wanted(s, value))
			more = scan_present(s, start, start + PAGE_SIZE);
		else
			more = !s->found;
	}
	return more;
}

static bool scan_pmds(struct page_scan *s, pud_t *pud, unsigned long start, unsigned long end)
{
	pmd_t *pmdp = pmd_offset(pud, start);
	unsigned long next;
	bool more = true;
	pmd_t pmd;

	for (; more && start < end; pmdp++, start = next) {
		if (should_yield(s, start))
			return false;
		next = pmd_addr_end(start, end);
		rcu_read_lock();
		pmd = READ_ONCE(*pmdp);
		if (pmd_none(pmd))
			more = !s->found;
		else if (s->huge >= PMD_SIZE)
			more = scan_present(s, start, next);
		else if (!pmd_present(pmd) || pmd_trans_huge(pmd) || pmd_leaf(pmd))
			more = s->guards ? !s->found : scan_present(s, start, next);
		else
			more = scan_ptes(s, pmd, start, next);
		rcu_read_unlock();
	}
	return more;
}

static bool scan_puds(struct page_scan *s, p4d_t *p4d, unsigned long start, unsigned long end)
{
	pud_t *pud = pud_offset(p4d, start);
	unsigned long next;
	bool more = true;

	for (; more && start < end; pud++, start = next) {
		pud_t value = READ_ONCE(*pud);

		if (should_yield(s, start))
			return false;
		next = pud_addr_end(start, end);
		if (pud_none(value))
			more = !s->found;
		else if (s->huge >= PUD_SIZE || pud_leaf(value))
			more = scan_present(s, start, next);
		else
			more = scan_pmds(s, pud, start, next);
	}
	return more;
}

static bool scan_p4ds(struct page_scan *s, pgd_t *pgd, unsigned long start, unsigned long end)
{
	p4d_t *p4d = p4d_offset(pgd, start);
	unsigned long next;
	bool more = true;

	for (; more && start < end; p4d++, start = next) {
		next = p4d_addr_end(start, end);
		more = p4d_none(READ_ONCE(*p4d)) ? !s->found : scan_puds(s, p4d, start, next);
	}
	return more;
}

/* Within an area. */
static bool scan_pgds(struct mm_struct *mm, struct page_scan *s, unsigned long start,
		      unsigned long end)
{
	pgd_t *pgd = pgd_offset(mm, start);
	unsigned long next;
	bool more = true;

	for (; more && start < end; pgd++, start = next) {
		next = pgd_addr_end(start, end);
		more = pgd_none(READ_ONCE(*pgd)) ? !s->found : scan_p4ds(s, pgd, start, next);
	}
	return more;
}

/*
 * Areas are looked up, whatever the caller knows of them: somebody else may have unmapped one
 * since.
 */
static unsigned long scan_range(struct mm_struct *mm, struct page_scan *s, unsigned long start,
				unsigned long end, unsigned long *range_end)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;
	unsigned long from;

	lockdep_assert_held(&mm->mmap_lock);
	s->left = SCAN_ENTRIES;
	for_each_vma_range(vmi, vma, end) {
		from = max(start, vma->vm_start);
		if (s->found && from != s->to)
			break;
		if (!scan_pgds(mm, s, from, min(end, vma->vm_end)))
			break;
	}
	if (!s->found)
		s->from = s->to = s->stopped ?: end;
	*range_end = s->to;
	return s->from;
}

unsigned long cryo_page_scan(struct mm_struct *mm, unsigned long start, unsigned long end,
			     unsigned long limit, unsigned long *range_end)
{
	struct page_scan s = { .limit = limit };

	return scan_range(mm, &s, start, end, range_end);
}

unsigned long cryo_vma_scan(struct mm_struct *mm, const struct cryo_vma_record *vma,
			    unsigned long start, unsigned long end, unsigned long limit,
			    unsigned long *range_end)
{
	struct page_scan s = { .limit = limit, .huge = vma->huge };

	return scan_range(mm, &s, start, end, range_end);
}

unsigned long cryo_guard_scan(struct mm_struct *mm, unsigned long start, unsigned long end,
			      unsigned long *range_end)
{
	struct page_scan s = { .limit = ULONG_MAX, .guards = true };

	return scan_range(mm, &s, start, end, range_end);
}

/* Within an area. */
static pmd_t *find_pmd(struct mm_struct *mm, unsigned long addr, unsigned long end,
		       unsigned long *next)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;
	pud_t *pud;

	*next = pgd_addr_end(addr, end);
	if (pgd_none(READ_ONCE(*pgd)))
		return NULL;
	p4d = p4d_offset(pgd, addr);
	/* Of a level that an architecture does not have, the end is what is given as such. */
	*next = p4d_addr_end(addr, *next);
	if (p4d_none(READ_ONCE(*p4d)))
		return NULL;
	pud = pud_offset(p4d, addr);
	*next = pud_addr_end(addr, *next);
	if (pud_none(READ_ONCE(*pud)))
		return NULL;
	*next = pmd_addr_end(addr, *next);
	return pmd_offset(pud, addr);
}

pmd_t *cryo_find_pmd(struct mm_struct *mm, unsigned long addr, unsigned long end,
		     unsigned long *next)
{
	struct vm_area_struct *vma = find_vma(mm, addr);

	lockdep_assert_held(&mm->mmap_lock);
	*next = vma ? min(end, vma->vm_start) : end;
	if (!vma || addr < vma->vm_start)
		return NULL;
	return find_pmd(mm, addr, min(end, vma->vm_end), next);
}
