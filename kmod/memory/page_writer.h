/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * page_writer.h - pages of private memory on their way into the context
 *
 * They are collected in batches, each of which becomes a section. While one is being written, other
 * processors look through the batches behind it (page_writer.c).
 */
#ifndef CRYO_PAGE_WRITER_H
#define CRYO_PAGE_WRITER_H

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/types.h>

#include "capture/stream.h"

struct cryo_capture;
struct cryo_page_batch;

struct cryo_page_writer {
	struct cryo_capture *c;
	u32 mm_id;
	struct cryo_page_batch *filling;	/* NULL: the next page begins one */
	/* those behind it, in the order in which they are written */
	struct list_head under_way;
	struct list_head spare;
	unsigned int nr_under_way;
	unsigned int ahead;			/* so many may be; 0: there are no helpers */
	u32 copies_mm_id;
	unsigned int nr_copies;			/* pages whose bytes are in the context already */
	struct cryo_page_copy copies[CRYO_PAGES_MAX];
	/* for who fills it: pages that he is about to add */
	struct page *taken[CRYO_BATCH_PAGES];
};

/* What is known of a page. */
#define CRYO_PAGE_SHARED	BIT(0)	/* may be in other processes, too */
#define CRYO_PAGE_KEEP_ZERO	BIT(1)	/* belongs into the context even if it is all zero */

/* NULL: no memory. */
struct cryo_page_writer *cryo_page_writer_create(struct cryo_capture *c);
/* What has not been written is given back. NULL does nothing. */
void cryo_page_writer_destroy(struct cryo_page_writer *w);

/* The next pages are of another memory. */
int cryo_page_writer_select(struct cryo_page_writer *w, u32 mm_id);
/* Make room; returns for how many pages, at least one, or an error. */
int cryo_page_writer_room(struct cryo_page_writer *w);
/* There is room. The reference to @page is the writer's then, with an error, too. */
int cryo_page_writer_add(struct cryo_page_writer *w, struct page *page, unsigned long addr,
			 unsigned int flags);
/* All that has been added is in the context. */
int cryo_page_writer_finish(struct cryo_page_writer *w);

int cryo_page_writer_init(void);	/* of the module */
void cryo_page_writer_exit(void);

#endif
