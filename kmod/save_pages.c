// SPDX-License-Identifier: GPL-2.0-only
/*
 * save_pages.c - the contents of private memory
 *
 * Pages are taken by reference in batches, checked for being all zero, and handed
 * to the file as they are: nothing is copied here.  Pages that are in the context
 * already, because another process has them too, get a reference to their bytes.
 */
#include <linux/bvec.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uio.h>
#include <linux/xxhash.h>

#include "compat/mm.h"
#include "cryo.h"
#include "page_scan.h"
#include "snapshot.h"

struct batch {
	struct cryo_capture *c;
	u32 mm_id;
	unsigned int nr_pages;
	unsigned int nr_runs;
	struct cryo_page_run runs[CRYO_PAGES_MAX];
	struct bio_vec pages[CRYO_PAGES_MAX];
	bool shared[CRYO_PAGES_MAX];	/* may be in other processes, too */
	struct page *taken[CRYO_PAGES_MAX];
	unsigned int nr_copies;
	struct cryo_page_copy copies[CRYO_PAGES_MAX];
};

static void release(struct batch *b)
{
	unsigned int i;

	for (i = 0; i < b->nr_pages; i++)
		put_page(b->pages[i].bv_page);
	b->nr_pages = 0;
	b->nr_runs = 0;
}

static u32 checksum_of(struct batch *b)
{
	struct xxh64_state state;
	unsigned int i;
	void *at;

	xxh64_reset(&state, 0);
	for (i = 0; i < b->nr_pages; i++) {
		at = kmap_local_page(b->pages[i].bv_page);
		xxh64_update(&state, at, PAGE_SIZE);
		kunmap_local(at);
	}
	return xxh64_digest(&state);
}

static void remember(struct batch *b, u64 offset)
{
	unsigned int i;

	for (i = 0; i < b->nr_pages; i++)
		if (b->shared[i])
			cryo_shared_page_remember(&b->c->shared, b->pages[i].bv_page,
						  offset + i * PAGE_SIZE);
}

static int flush_copies(struct batch *b)
{
	struct cryo_array head = {
		.count = b->nr_copies, .record_size = sizeof(b->copies[0]),
	};
	struct cryo_buf buf = {};

	if (!b->nr_copies)
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	cryo_buf_put(&buf, b->copies, b->nr_copies * sizeof(b->copies[0]));
	b->nr_copies = 0;
	return cryo_stream_buf(&b->c->stream, CRYO_SEC_PAGE_COPIES, b->mm_id, sizeof(head),
			       &buf);
}

static int flush(struct batch *b)
{
	struct cryo_pages head = {
		.kind = CRYO_PAGES_MM,
		.nr_runs = b->nr_runs,
		.record_size = sizeof(struct cryo_page_run),
		.nr_pages = b->nr_pages,
	};
	struct cryo_stream *s = &b->c->stream;
	struct cryo_buf buf = {};
	struct iov_iter iter;
	int err;

	if (!b->nr_pages)
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	cryo_buf_put(&buf, b->runs, b->nr_runs * sizeof(b->runs[0]));
	err = cryo_stream_buf(s, CRYO_SEC_PAGES, b->mm_id, sizeof(head), &buf);
	if (!err) {
		iov_iter_bvec(&iter, ITER_SOURCE, b->pages, b->nr_pages, b->nr_pages * PAGE_SIZE);
		err = cryo_stream_page_data(s, b->mm_id, &iter, checksum_of(b));
		if (!err)
			remember(b, s->offset - b->nr_pages * PAGE_SIZE);
	}
	b->c->req->pages_saved += b->nr_pages;
	release(b);
	cryo_event_progress(b->c->req);
	return err ?: cryo_request_interrupted(b->c->req);
}

static void add_page(struct batch *b, struct page *page, unsigned long addr, bool shared)
{
	struct cryo_page_run *run = b->nr_runs ? &b->runs[b->nr_runs - 1] : NULL;

	b->shared[b->nr_pages] = shared;
	b->pages[b->nr_pages++] = (struct bio_vec){ .bv_page = page, .bv_len = PAGE_SIZE };
	if (run && run->start + run->nr_pages * PAGE_SIZE == addr)
		run->nr_pages++;
	else
		b->runs[b->nr_runs++] = (struct cryo_page_run){ .start = addr, .nr_pages = 1 };
}

static void add_copy(struct batch *b, u64 offset, unsigned long addr)
{
	struct cryo_page_copy *copy = b->nr_copies ? &b->copies[b->nr_copies - 1] : NULL;
	u64 length = copy ? copy->nr_pages * PAGE_SIZE : 0;

	if (copy && copy->start + length == addr && copy->offset + length == offset)
		copy->nr_pages++;
	else
		b->copies[b->nr_copies++] = (struct cryo_page_copy){
			.start = addr, .nr_pages = 1, .offset = offset,
		};
}

static bool is_zero(struct page *page)
{
	void *at = kmap_local_page(page);
	bool zero = !memchr_inv(at, 0, PAGE_SIZE);

	kunmap_local(at);
	return zero;
}

/*
 * The page of @addr: its reference is ours, and goes to the batch, or back.  In a private mapping of a
 * file (@anon_only), one that is all zero counts: the file's page under it is not.
 */
static void sort_page(struct batch *b, struct page *page, unsigned long addr, bool anon_only,
		      bool shared)
{
	u64 offset = shared ? cryo_shared_page_find(&b->c->shared, page) : 0;

	if (offset) {
		add_copy(b, offset, addr);
		put_page(page);
	} else if (!anon_only && is_zero(page)) {
		b->c->req->pages_zero++;
		put_page(page);
	} else {
		add_page(b, page, addr, shared);
	}
}

/* What get_user_pages() gave. */
static void sort_pages(struct batch *b, const struct cryo_vma_record *vma, unsigned long addr,
		       long n)
{
	struct page *page;
	long i;

	for (i = 0; i < n; i++, addr += PAGE_SIZE) {
		page = b->taken[i];
		if (vma->anon_only && !PageAnon(page))
			put_page(page);
		else
			sort_page(b, page, addr, vma->anon_only, cryo_page_may_be_shared(page));
	}
}

/*
 * Find the next pages of @vma at or after *@addr, before @limit, and take them.  The lock is not
 * held while they are written: that may take long, and may need it.
 */
static int take(struct batch *b, const struct cryo_vma_record *vma, unsigned long *addr,
		unsigned long limit)
{
	struct mm_struct *mm = b->c->p->mm;
	unsigned long start, end;
	long n = 0;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	start = cryo_page_scan(mm, *addr, limit, CRYO_PAGES_MAX * PAGE_SIZE, &end);
	if (start < end) {
		n = min_t(long, (end - start) >> PAGE_SHIFT,
			  CRYO_PAGES_MAX - max(b->nr_pages, b->nr_copies));
		n = cryo_get_user_pages_remote(mm, start, n, FOLL_FORCE, b->taken);
	}
	mmap_read_unlock(mm);
	if (n < 0 || (!n && start < end)) {
		cryo_warn(b->c, "memory %lx-%lx: cannot be read at %lx (error %ld)",
			  (unsigned long)vma->out.start, (unsigned long)vma->out.end, start, n);
		return n ?: -EFAULT;
	}
	sort_pages(b, vma, start, n);
	*addr = start + n * PAGE_SIZE;
	return 0;
}

/* For one more page at least. */
static int make_room(struct batch *b)
{
	int err = 0;

	if (b->nr_pages == CRYO_PAGES_MAX)
		err = flush(b);
	if (!err && b->nr_copies == CRYO_PAGES_MAX)
		err = flush_copies(b);
	return err;
}

static int save_range(struct batch *b, const struct cryo_vma_record *vma, unsigned long addr,
		      unsigned long end)
{
	int err = 0;

	while (!err && addr < end) {
		err = make_room(b) ?: take(b, vma, &addr, end);
		cond_resched();
	}
	return err;
}

/* All of it, but for what the process has excluded. */
static int save_vma(struct batch *b, const struct cryo_vma_record *vma)
{
	unsigned long addr = vma->out.start, end = vma->out.end;
	const struct cryo_client_range *skip = NULL;
	unsigned long from, to;
	int err = 0;

	while (!err && addr < end) {
		if (vma->out.kind == CRYO_VMA_ANON)
			skip = cryo_exclusions_find(b->c->p, addr, end);
		from = skip ? max_t(unsigned long, addr, skip->start) : end;
		to = skip ? min_t(unsigned long, end, skip->end) : end;
		err = save_range(b, vma, addr, from);
		if (!err && from < to)
			err = cryo_exclusions_note(b->c, from, to);
		addr = to;
	}
	return err;
}

static int save_some_unchanged(struct cryo_capture *c, const struct cryo_page_run *runs,
			       unsigned int n)
{
	struct cryo_unchanged head = {
		.parent = c->p->parent_mm, .nr_runs = n, .record_size = sizeof(*runs),
	};
	struct cryo_buf buf = {};

	cryo_buf_put(&buf, &head, sizeof(head));
	if (n)
		cryo_buf_put(&buf, runs, n * sizeof(*runs));
	return cryo_stream_buf(&c->stream, CRYO_SEC_PAGES_UNCHANGED, c->p->mm_id, sizeof(head),
			       &buf);
}

/* What cryo_protect_memory() has found to be as in the parent; without runs, if it was only looked for. */
int cryo_save_unchanged(struct cryo_capture *c)
{
	const struct cryo_page_run *runs = (const struct cryo_page_run *)c->p->unchanged.data;
	unsigned int left = c->p->unchanged.len / sizeof(*runs), n;
	int err = 0;

	if (!c->p->parent_mm)
		return 0;
	do {
		n = min_t(unsigned int, left, CRYO_UNCHANGED_MAX);
		err = save_some_unchanged(c, runs, n);
		runs += n;
		left -= n;
	} while (!err && left);
	cryo_buf_free(&c->p->unchanged);
	return err;
}

/* Bytes that the process's memory will take, at most about: pages may turn out to be zero. */
u64 cryo_estimate(struct cryo_capture *c)
{
	return (u64)get_mm_counter(c->p->mm, MM_ANONPAGES) * PAGE_SIZE;
}

/* Write all private memory of the process. */
int cryo_save_memory(struct cryo_capture *c)
{
	struct batch *b = kvzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	unsigned int i;
	int err = 0;

	if (!b)
		return -ENOMEM;
	b->c = c;
	b->mm_id = c->p->mm_id;
	for (i = 0; !err && i < c->p->nr_vmas; i++)
		if (c->p->vmas[i].pages)
			err = save_vma(b, &c->p->vmas[i]);
	if (!err)
		err = flush(b) ?: flush_copies(b) ?: cryo_save_exclusions(c);
	release(b);
	kvfree(b);
	return err;
}

/* The next entry of @chunk; its pages are the batch's then. */
static int write_entry(struct batch *b, struct cryo_snap_chunk *chunk)
{
	unsigned long entry = chunk->entries[chunk->next];
	struct page *page = (struct page *)(entry & ~CRYO_SNAP_FLAGS);
	unsigned int i, n;
	int err = 0;

	if (entry & CRYO_SNAP_ADDRESS) {
		chunk->address = entry & ~CRYO_SNAP_FLAGS;
		chunk->anon_only = entry & CRYO_SNAP_ANON_ONLY;
		chunk->next++;
		return 0;
	}
	n = entry & CRYO_SNAP_HUGE ? folio_nr_pages(page_folio(page)) : 1;
	for (i = 0; !err && i < n; i++) {
		err = make_room(b);
		if (err)
			break;
		get_page(page + i);
		sort_page(b, page + i, chunk->address, chunk->anon_only, entry & CRYO_SNAP_SHARED);
		chunk->address += PAGE_SIZE;
	}
	chunk->next++;
	put_page(page);
	return err;
}

static int write_chunk(struct batch *b, struct cryo_snap_chunk *chunk)
{
	int err = 0;

	if (b->mm_id != chunk->mm_id)
		err = flush(b) ?: flush_copies(b);
	b->mm_id = chunk->mm_id;
	while (!err && chunk->next < chunk->nr)
		err = write_entry(b, chunk);
	return err;
}

/* Write what cryo_protect_memory() has taken. Each page is given back as soon as it has been written. */
int cryo_write_snapshot(struct cryo_capture *c, struct cryo_snapshot *s)
{
	struct batch *b = kvzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	struct cryo_snap_chunk *chunk, *next;
	int err = 0;

	if (!b)
		return -ENOMEM;
	b->c = c;
	list_for_each_entry_safe(chunk, next, &s->chunks, node) {
		err = write_chunk(b, chunk);
		if (err)
			break;
		cryo_snap_chunk_free(chunk);
	}
	if (!err)
		err = flush(b) ?: flush_copies(b);
	release(b);
	kvfree(b);
	return err;
}
