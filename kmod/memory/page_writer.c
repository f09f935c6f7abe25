// SPDX-License-Identifier: GPL-2.0-only
/*
 * page_writer.c - the contents of private memory, in batches
 *
 * Pages are only referenced, and handed to the file as they are: nothing is copied here. To find
 * those that are all zero, and the checksum of the others, takes about half as long as to write
 * them. So other processors do that for the batches that come next, if the requester may use more
 * than one. The writing itself, and all that depends on its order, is done by the requester: in its
 * control groups and limits, and with its rights.
 *
 * Pages that are in the context already, because another process has them too, get a reference to
 * their bytes.
 */
#include <linux/bitmap.h>
#include <linux/bvec.h>
#include <linux/cpumask.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include <linux/xxhash.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "lib/buf.h"
#include "lib/trace.h"
#include "lib/zero_page.h"
#include "memory/page_writer.h"
#include "memory/shared_pages.h"
#include "request/events.h"

#define MAX_AHEAD	4U	/* more than this the requester cannot write meanwhile */

struct cryo_page_batch {
	struct list_head node;
	struct work_struct work;
	u32 mm_id;

	unsigned int nr;
	unsigned int nr_found;			/* of them in the context since */
	struct page *pages[CRYO_BATCH_PAGES];	/* NULL: found */
	unsigned long addresses[CRYO_BATCH_PAGES];
	DECLARE_BITMAP(shared, CRYO_BATCH_PAGES);
	DECLARE_BITMAP(keep_zero, CRYO_BATCH_PAGES);

	/* What look_through() makes of them. */
	unsigned int nr_kept;
	unsigned int nr_runs;
	u32 checksum;
	struct bio_vec kept[CRYO_BATCH_PAGES];
	u16 kept_from[CRYO_BATCH_PAGES];		/* index in pages */
	struct cryo_page_run runs[CRYO_BATCH_PAGES];
};

static_assert(CRYO_BATCH_PAGES <= CRYO_PAGES_MAX);

static struct workqueue_struct *queue;

int cryo_page_writer_init(void)
{
	queue = alloc_workqueue("cryo-pages", WQ_UNBOUND, 0);
	return queue ? 0 : -ENOMEM;
}

void cryo_page_writer_exit(void)
{
	destroy_workqueue(queue);
}

static void keep_in_batch(struct cryo_page_batch *b, unsigned int i)
{
	struct cryo_page_run *run = b->nr_runs ? &b->runs[b->nr_runs - 1] : NULL;
	unsigned long addr = b->addresses[i];

	b->kept_from[b->nr_kept] = i;
	b->kept[b->nr_kept++] = (struct bio_vec){ .bv_page = b->pages[i], .bv_len = PAGE_SIZE };
	if (run && run->start + run->nr_pages * PAGE_SIZE == addr)
		run->nr_pages++;
	else
		b->runs[b->nr_runs++] = (struct cryo_page_run){ .start = addr, .nr_pages = 1 };
}

/* Which pages belong into the context, and their checksum. */
static void look_through(struct cryo_page_batch *b)
{
	struct xxh64_state state;
	unsigned int i;
	void *at;

	b->nr_kept = 0;
	b->nr_runs = 0;
	xxh64_reset(&state, 0);
	for (i = 0; i < b->nr; i++) {
		if (!b->pages[i])
			continue;
		at = kmap_local_page(b->pages[i]);
		if (test_bit(i, b->keep_zero) || !cryo_page_is_zero(at)) {
			xxh64_update(&state, at, PAGE_SIZE);
			keep_in_batch(b, i);
		}
		kunmap_local(at);
		cond_resched();
	}
	b->checksum = xxh64_digest(&state);
}

static void look_through_work(struct work_struct *work)
{
	look_through(container_of(work, struct cryo_page_batch, work));
}

/* Somebody has looked through @b when this returns; nobody is looking. */
static void await_look(struct cryo_page_writer *w, struct cryo_page_batch *b)
{
	/* A processor that is free for it need not be found. */
	if (!w->ahead || cancel_work(&b->work))
		look_through(b);
	else
		flush_work(&b->work);
}

static void release_pages_of(struct cryo_page_batch *b)
{
	unsigned int i;

	for (i = 0; i < b->nr; i++)
		if (b->pages[i])
			put_page(b->pages[i]);
	b->nr = 0;
}

static struct cryo_page_batch *begin_batch(struct cryo_page_writer *w)
{
	struct cryo_page_batch *b;

	b = list_first_entry_or_null(&w->spare, struct cryo_page_batch, node);
	if (b) {
		list_del(&b->node);
	} else {
		b = kvmalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
		if (!b)
			return NULL;
		INIT_WORK(&b->work, look_through_work);
	}
	b->nr = 0;
	b->nr_found = 0;
	b->mm_id = w->mm_id;
	bitmap_zero(b->shared, CRYO_BATCH_PAGES);
	bitmap_zero(b->keep_zero, CRYO_BATCH_PAGES);
	return b;
}

static int flush_copies(struct cryo_page_writer *w)
{
	struct cryo_array head = {
		.count = w->nr_copies, .record_size = sizeof(w->copies[0]),
	};
	struct cryo_buf buf = {};

	if (!w->nr_copies)
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	cryo_buf_put(&buf, w->copies, w->nr_copies * sizeof(w->copies[0]));
	w->nr_copies = 0;
	return cryo_stream_buf(&w->c->stream, CRYO_SEC_PAGE_COPIES, w->copies_mm_id, sizeof(head),
			       &buf);
}

static int add_copy(struct cryo_page_writer *w, u32 mm_id, u64 offset, unsigned long addr)
{
	struct cryo_page_copy *copy;
	int err = 0;
	u64 length;

	if (w->nr_copies == CRYO_PAGES_MAX || w->copies_mm_id != mm_id)
		err = flush_copies(w);
	w->copies_mm_id = mm_id;
	copy = w->nr_copies ? &w->copies[w->nr_copies - 1] : NULL;
	length = copy ? copy->nr_pages * PAGE_SIZE : 0;
	if (copy && copy->start + length == addr && copy->offset + length == offset)
		copy->nr_pages++;
	else
		w->copies[w->nr_copies++] = (struct cryo_page_copy){
			.start = addr, .nr_pages = 1, .offset = offset,
		};
	return err;
}

/* Pages of @b that an earlier batch has brought into the context after they had been added. */
static int drop_found(struct cryo_page_writer *w, struct cryo_page_batch *b)
{
	int err = 0;
	u64 offset;
	u32 i;

	for_each_set_bit(i, b->shared, b->nr) {
		offset = cryo_shared_page_find(&w->c->shared, b->pages[i]);
		if (!offset)
			continue;
		err = err ?: add_copy(w, b->mm_id, offset, b->addresses[i]);
		put_page(b->pages[i]);
		b->pages[i] = NULL;
		b->nr_found++;
	}
	if (b->nr_found)
		look_through(b);
	return err;
}

static void remember_shared(struct cryo_page_writer *w, struct cryo_page_batch *b, u64 offset)
{
	unsigned int i;

	for (i = 0; i < b->nr_kept; i++)
		if (test_bit(b->kept_from[i], b->shared))
			cryo_shared_page_remember(&w->c->shared, b->kept[i].bv_page,
						  offset + i * PAGE_SIZE);
}

static int write_kept(struct cryo_page_writer *w, struct cryo_page_batch *b)
{
	struct cryo_pages head = {
		.kind = CRYO_PAGES_MM,
		.nr_runs = b->nr_runs,
		.record_size = sizeof(struct cryo_page_run),
		.nr_pages = b->nr_kept,
	};
	struct cryo_stream *s = &w->c->stream;
	struct cryo_buf buf = {};
	struct iov_iter iter;
	int err;

	cryo_buf_put(&buf, &head, sizeof(head));
	cryo_buf_put(&buf, b->runs, b->nr_runs * sizeof(b->runs[0]));
	err = cryo_stream_buf(s, CRYO_SEC_PAGES, b->mm_id, sizeof(head), &buf);
	if (err)
		return err;
	iov_iter_bvec(&iter, ITER_SOURCE, b->kept, b->nr_kept, b->nr_kept * PAGE_SIZE);
	err = cryo_stream_page_data(s, b->mm_id, &iter, b->checksum);
	if (!err)
		remember_shared(w, b, s->offset - b->nr_kept * PAGE_SIZE);
	return err;
}

/* The oldest of those under way. */
static int write_batch(struct cryo_page_writer *w)
{
	struct cryo_page_batch *b = list_first_entry(&w->under_way, struct cryo_page_batch, node);
	struct cryo_request *req = w->c->req;
	int err;

	await_look(w, b);
	err = drop_found(w, b);
	if (!err && b->nr_kept)
		err = write_kept(w, b);
	if (!err)
		trace_cryo_pages(b->mm_id, b->nr, b->nr_kept);
	req->pages_saved += b->nr_kept;
	req->pages_zero += b->nr - b->nr_found - b->nr_kept;
	release_pages_of(b);
	list_move(&b->node, &w->spare);
	w->nr_under_way--;
	cryo_event_progress(req);
	return err ?: cryo_request_interrupted(req);
}

/* What has been collected is looked through while those before it are written. */
static int submit_pages(struct cryo_page_writer *w)
{
	struct cryo_page_batch *b = w->filling;
	int err = 0;

	if (!b)
		return 0;
	w->filling = NULL;
	list_add_tail(&b->node, &w->under_way);
	w->nr_under_way++;
	if (w->ahead)
		queue_work(queue, &b->work);
	while (!err && w->nr_under_way > w->ahead)
		err = write_batch(w);
	return err;
}

int cryo_page_writer_select(struct cryo_page_writer *w, u32 mm_id)
{
	int err = w->mm_id == mm_id ? 0 : submit_pages(w);

	w->mm_id = mm_id;
	return err;
}

int cryo_page_writer_room(struct cryo_page_writer *w)
{
	int err = 0;

	if (w->filling && w->filling->nr == CRYO_BATCH_PAGES)
		err = submit_pages(w);
	if (err)
		return err;
	if (!w->filling)
		w->filling = begin_batch(w);
	return w->filling ? CRYO_BATCH_PAGES - w->filling->nr : -ENOMEM;
}

int cryo_page_writer_add(struct cryo_page_writer *w, struct page *page, unsigned long addr,
			 unsigned int flags)
{
	u64 offset = flags & CRYO_PAGE_SHARED ? cryo_shared_page_find(&w->c->shared, page) : 0;
	struct cryo_page_batch *b = w->filling;

	if (offset) {
		put_page(page);
		return add_copy(w, w->mm_id, offset, addr);
	}
	__assign_bit(b->nr, b->shared, flags & CRYO_PAGE_SHARED);
	__assign_bit(b->nr, b->keep_zero, flags & CRYO_PAGE_KEEP_ZERO);
	b->addresses[b->nr] = addr;
	b->pages[b->nr++] = page;
	return 0;
}

int cryo_page_writer_finish(struct cryo_page_writer *w)
{
	int err = submit_pages(w);

	while (!err && w->nr_under_way)
		err = write_batch(w);
	return err ?: flush_copies(w);
}

struct cryo_page_writer *cryo_page_writer_create(struct cryo_capture *c)
{
	struct cryo_page_writer *w = kvzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);

	if (!w)
		return NULL;
	w->c = c;
	w->ahead = min3(cpumask_weight(current->cpus_ptr), num_online_cpus(), MAX_AHEAD + 1) - 1;
	INIT_LIST_HEAD(&w->under_way);
	INIT_LIST_HEAD(&w->spare);
	return w;
}

static void free_batches(struct list_head *batches)
{
	struct cryo_page_batch *b, *next;

	list_for_each_entry_safe(b, next, batches, node) {
		cancel_work_sync(&b->work);
		release_pages_of(b);
		kvfree(b);
	}
}

void cryo_page_writer_destroy(struct cryo_page_writer *w)
{
	if (!w)
		return;
	if (w->filling)
		list_add(&w->filling->node, &w->spare);
	free_batches(&w->under_way);
	free_batches(&w->spare);
	kvfree(w);
}
