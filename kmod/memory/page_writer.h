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
	struct list_head under_way;		/* those before it, in the order of writing */
	struct list_head spare;
	unsigned int nr_under_way;
	unsigned int ahead;			/* so many may be; 0: no other processor helps */
	u32 copies_mm_id;
	unsigned int nr_copies;			/* pages whose bytes are in the context already */
	struct cryo_page_copy copies[CRYO_PAGES_MAX];
	struct page *taken[CRYO_BATCH_PAGES];	/* of the caller: pages that it is about to add */
};

/* What is known of a page. */
#define CRYO_PAGE_SHARED	BIT(0)	/* may be in other processes, too */
#define CRYO_PAGE_KEEP_ZERO	BIT(1)	/* belongs into the context even if it is all zero */

/**
 * cryo_page_writer_create() - make a writer of pages
 * @c: the capture, to whose stream the pages go
 *
 * Other processors prepare the next batches, if the caller's affinity has more than one; charged to
 * the caller.
 *
 * Context: In the requester. May sleep.
 *
 * Return: for cryo_page_writer_destroy(); NULL: no memory.
 */
struct cryo_page_writer *cryo_page_writer_create(struct cryo_capture *c);

/**
 * cryo_page_writer_destroy() - free a writer, with all pages that have not been written
 * @w: the writer; NULL is fine
 *
 * Context: In the requester. Waits for the works of its batches.
 */
void cryo_page_writer_destroy(struct cryo_page_writer *w);

/* The next pages are of another memory. */
int cryo_page_writer_select(struct cryo_page_writer *w, u32 mm_id);
/* Make room; returns for how many pages, at least one, or an error. */
int cryo_page_writer_room(struct cryo_page_writer *w);
/* There is room. The reference to @page is the writer's then, with an error, too. */
int cryo_page_writer_add(struct cryo_page_writer *w, struct page *page, unsigned long addr,
			 unsigned int flags);

/**
 * cryo_page_writer_finish() - write all pages that have been added
 * @w: the writer
 *
 * Context: In the requester, without mmap_lock. Sleeps: waits for the disk or a reader.
 *
 * Return: 0; an error of cryo_request_interrupted() or of writing; -ENOMEM, -E2BIG or -EFBIG.
 */
int cryo_page_writer_finish(struct cryo_page_writer *w);

/**
 * cryo_page_writer_init() - allocate the workqueue of all writers
 *
 * Context: In the module's init.
 *
 * Return: 0 or -ENOMEM.
 */
int cryo_page_writer_init(void);

/**
 * cryo_page_writer_exit() - free that workqueue
 *
 * Context: In the module's exit, or when its init fails: there is no writer.
 */
void cryo_page_writer_exit(void);

#endif
