// SPDX-License-Identifier: GPL-2.0-only
/*
 * shared_pages.c - pages that several processes of a checkpoint have, written once
 *
 * After a fork() parent and child have the same pages until one of them writes.
 * A page that may be such a one is remembered by its number, with the place of its
 * bytes in the context; the next process that has it gets a reference to that place.
 *
 * A remembered page is referenced: it can neither go to somebody else nor be written
 * in place, as a writer outside of the checkpoint gets a copy then.  Those in the
 * checkpoint are parked.
 */
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/sched.h>
#include <linux/xarray.h>

#include "capture/capture.h"
#include "lib/memcg.h"
#include "memory/shared_pages.h"

/*
 * Nobody can take a page away as long as it is remembered. So there is one part in so many of the
 * memory of the machine, and of that of the control groups, in which pages are remembered; what
 * comes after is written for each process.
 */
#define SHARE_OF_MEMORY	2

void cryo_shared_pages_init(struct cryo_shared_pages *s)
{
	xa_init_flags(&s->places, XA_FLAGS_ACCOUNT);
	s->most = totalram_pages() / SHARE_OF_MEMORY;
}

void cryo_shared_pages_expect(struct cryo_shared_pages *s, struct mm_struct *mm)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(mm);

	s->memories++;
	s->most = min_t(u64, s->most, cryo_memcg_limit(memcg) / SHARE_OF_MEMORY);
	mem_cgroup_put(memcg);
}

void cryo_shared_pages_free(struct cryo_shared_pages *s)
{
	unsigned long pfn;
	void *place;

	xa_for_each(&s->places, pfn, place) {
		put_page(pfn_to_page(pfn));
		cond_resched();
	}
	xa_destroy(&s->places);
	s->count = 0;
}

/*
 * Not more than a look at its flags: most pages belong to one process alone. Before a snapshot
 * takes it.
 */
bool cryo_page_may_be_shared(struct page *page)
{
	return PageAnon(page) && !PageAnonExclusive(page);
}

/* Where the bytes of @page, which may be shared, are in the context, or 0. */
u64 cryo_shared_page_find(struct cryo_shared_pages *s, struct page *page)
{
	void *place;

	if (s->memories <= 1)
		return 0;
	place = xa_load(&s->places, page_to_pfn(page));
	return place ? (u64)xa_to_value(place) << PAGE_SHIFT : 0;
}

/* Its bytes are at @offset. No error: what is not remembered is written again. */
void cryo_shared_page_remember(struct cryo_shared_pages *s, struct page *page, u64 offset)
{
	if (s->memories <= 1 || s->count >= s->most)
		return;
	if (xa_insert(&s->places, page_to_pfn(page), xa_mk_value(offset >> PAGE_SHIFT),
		      GFP_KERNEL_ACCOUNT | __GFP_NOWARN))
		return;
	get_page(page);
	s->count++;
}
