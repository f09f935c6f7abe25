/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CRYO_PAGE_SCAN_H
#define CRYO_PAGE_SCAN_H

#include <linux/mm_types.h>
#include <linux/pgtable.h>

/**
 * cryo_page_scan() - the first range of pages that were ever populated: present, swapped out or
 *	migrating
 * @mm: the memory
 * @start: where to begin
 * @end: where to end
 * @limit: bytes of a range after which it is long enough
 * @range_end: gets its end; the start: none has been found up to there
 *
 * Covers VMAs only. Returns after about a millisecond, so that the caller can reschedule and check
 * its time limit.
 *
 * Context: With mmap_lock.
 *
 * Return: the start of the range; or how far it has looked, @end or less.
 */
unsigned long cryo_page_scan(struct mm_struct *mm, unsigned long start, unsigned long end,
			     unsigned long limit, unsigned long *range_end);

struct cryo_vma_record;

/**
 * cryo_vma_scan() - the same in one area, whose pages may be those of hugetlbfs
 * @mm: the memory
 * @vma: the area
 * @start: where to begin
 * @end: where to end
 * @limit: bytes of a range after which it is long enough
 * @range_end: gets its end
 *
 * Context: With mmap_lock.
 *
 * Return: as cryo_page_scan().
 */
unsigned long cryo_vma_scan(struct mm_struct *mm, const struct cryo_vma_record *vma,
			    unsigned long start, unsigned long end, unsigned long limit,
			    unsigned long *range_end);

/**
 * cryo_guard_scan() - the same of guards (MADV_GUARD_INSTALL)
 * @mm: the memory
 * @start: where to begin
 * @end: where to end
 * @range_end: gets the end of the range
 *
 * Context: With mmap_lock.
 *
 * Return: as cryo_page_scan().
 */
unsigned long cryo_guard_scan(struct mm_struct *mm, unsigned long start, unsigned long end,
			      unsigned long *range_end);

/**
 * cryo_find_pmd() - the entry for an address
 * @mm: the memory
 * @addr: the address
 * @end: how far the caller is going to look
 * @next: gets where the next one begins
 *
 * Context: With mmap_lock.
 *
 * Return: NULL: there is no table for it, or no area.
 */
pmd_t *cryo_find_pmd(struct mm_struct *mm, unsigned long addr, unsigned long end,
		     unsigned long *next);

#endif
