/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * used.h - which private anonymous pages a process has used since the checkpoint before
 *
 * protect.c and pages.c, which walk the page tables anyway, query it; used.c keeps the results.
 */
#ifndef CRYO_USED_H
#define CRYO_USED_H

#include <linux/bitmap.h>
#include <linux/mm_types.h>
#include <linux/pgtable.h>

struct cryo_used;

/* Of one page table, while its lock is held. */
struct cryo_used_table {
	DECLARE_BITMAP(pages, MAX_PTRS_PER_PTE);
	bool others;			/* there are pages that have not been used */
};

bool cryo_used_pte(struct cryo_used_table *t, pte_t *pte, unsigned long addr, struct page *page);
bool cryo_used_huge(const struct cryo_used *u, struct cryo_used_table *t, pmd_t *pmd,
		    unsigned long addr, unsigned long end);
void cryo_used_keep(struct cryo_used *u, struct cryo_used_table *t, unsigned long addr);

/**
 * cryo_used_look() - note the pages of a range that have been used, and clear their accessed bits
 * @u: gets them; NULL: what the kernel itself has just used is not noted
 * @mm: the address space
 * @start: address of the range, all of which is private anonymous memory
 * @end: its end
 *
 * Context: With mmap_lock of @mm. May sleep.
 */
void cryo_used_look(struct cryo_used *u, struct mm_struct *mm, unsigned long start,
		    unsigned long end);

/**
 * cryo_used_free() - free what has been noted
 * @u: all zero afterwards, and may be used again
 */
void cryo_used_free(struct cryo_used *u);

#endif
