/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * shared_pages.h - pages that several processes of one context have: written once, and found again
 * by their address
 */
#ifndef CRYO_SHARED_PAGES_H
#define CRYO_SHARED_PAGES_H

#include <linux/types.h>

struct cryo_shared_pages;
struct mm_struct;
struct page;

void cryo_shared_pages_init(struct cryo_shared_pages *s);
void cryo_shared_pages_expect(struct cryo_shared_pages *s, struct mm_struct *mm);
void cryo_shared_pages_free(struct cryo_shared_pages *s);
bool cryo_page_may_be_shared(struct page *page);
u64 cryo_shared_page_find(struct cryo_shared_pages *s, struct page *page);
void cryo_shared_page_remember(struct cryo_shared_pages *s, struct page *page, u64 offset);

#endif /* CRYO_SHARED_PAGES_H */
