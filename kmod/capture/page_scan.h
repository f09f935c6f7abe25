/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CRYO_PAGE_SCAN_H
#define CRYO_PAGE_SCAN_H

#include <linux/mm_types.h>
#include <linux/pgtable.h>

/*
 * The first range of pages in [@start, @end) that have ever been touched: present, swapped out
 * or migrating.  Returns its start, and its end in *@range_end.  Both are the same where none has been found up to there: @end, or
 * less, as it gives up after a millisecond or so, for the caller to let others have the processor and look whether there is still time.  Looks
 * no further once it has found @limit bytes, and only where there are areas.  mmap_lock is held for
 * reading.
 */
unsigned long cryo_page_scan(struct mm_struct *mm, unsigned long start, unsigned long end,
			     unsigned long limit, unsigned long *range_end);

struct cryo_vma_record;

/* The same of a range in @vma, whose pages may be those of hugetlbfs. */
unsigned long cryo_vma_scan(struct mm_struct *mm, const struct cryo_vma_record *vma,
			    unsigned long start, unsigned long end, unsigned long limit,
			    unsigned long *range_end);

/* The same of guards (MADV_GUARD_INSTALL), without a limit. */
unsigned long cryo_guard_scan(struct mm_struct *mm, unsigned long start, unsigned long end,
			      unsigned long *range_end);

/* The entry for @addr, NULL when there is no table for it, or no area; *@next: where the next one begins. With mmap_lock. */
pmd_t *cryo_find_pmd(struct mm_struct *mm, unsigned long addr, unsigned long end,
		     unsigned long *next);

#endif
