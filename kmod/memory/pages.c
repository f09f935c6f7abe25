// SPDX-License-Identifier: GPL-2.0-only
/*
 * pages.c - which pages of private memory belong into the context
 *
 * They are taken by reference; page_writer.c writes them.
 */
#include <linux/mm.h>
#include <linux/page-flags.h>

#include <cryo/client.h>
#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "capture/page_scan.h"
#include "capture/uprobes.h"
#include "compat/hugetlb.h"
#include "compat/mm.h"
#include "cryo_arch.h"
#include "lib/buf.h"
#include "memory/memory.h"
#include "memory/page_writer.h"
#include "memory/shared_pages.h"
#include "memory/snapshot.h"
#include "memory/used.h"
#include "request/exclusions.h"
#include "save/memory/hugetlb.h"

/*
 * What get_user_pages() gave. In a private mapping of a file (anon_only), one that is all zero
 * counts: the file's page under it is not.
 */
static int add_taken(struct cryo_page_writer *w, struct cryo_proc *p,
		     const struct cryo_vma_record *vma, unsigned long addr, long n)
{
	bool probed = cryo_may_have_uprobes(p, vma);
	struct page **taken = w->taken;
	unsigned int flags;
	int err = 0;
	long i;

	for (i = 0; i < n; i++, addr += PAGE_SIZE) {
		if (err || (vma->anon_only && !PageAnon(taken[i]))) {
			put_page(taken[i]);
			continue;
		}
		if (probed)
			err = cryo_without_uprobes(w->c, p, vma, addr, &taken[i]);
		if (err || !taken[i]) {
			if (taken[i])
				put_page(taken[i]);
			continue;
		}
		/* Of a page of hugetlbfs, the first one has the flags. */
		flags = cryo_page_may_be_shared(vma->huge ? compound_head(taken[i]) : taken[i]) ?
			CRYO_PAGE_SHARED : 0;
		if (vma->anon_only)
			flags |= CRYO_PAGE_KEEP_ZERO;
		err = cryo_page_writer_add(w, taken[i], addr, flags);
	}
	return err;
}

/*
 * With mmap_lock. What the process has used is noted before: for the kernel we use what we take,
 * and may be noted as users, which is forgotten.
 */
static long take_pages(struct cryo_page_writer *w, struct cryo_proc *p,
		       const struct cryo_vma_record *vma, unsigned long start, long n)
{
	unsigned long end = start + n * PAGE_SIZE;
	bool look = !vma->anon_only && !vma->huge;

	lockdep_assert_held(&p->mm->mmap_lock);
	if (look)
		cryo_used_look(&p->used, p->mm, start, end);
	n = cryo_get_user_pages_remote(p->mm, start, n, FOLL_FORCE, w->taken);
	if (look)
		cryo_used_look(NULL, p->mm, start, end);
	return n;
}

/*
 * Find the next pages of @vma at or after *@addr, before @limit, and take them.  The lock is not
 * held while they are written: that may take long, and may need it.
 */
static int take_run(struct cryo_page_writer *w, struct cryo_proc *p,
		    const struct cryo_vma_record *vma, unsigned long *addr, unsigned long limit)
{
	struct mm_struct *mm = p->mm;
	int room = cryo_page_writer_room(w);
	unsigned long start, end;
	long n = 0;
	int err;

	if (room < 0)
		return room;
	err = cryo_mmap_read_lock(w->c->req, mm);
	if (err)
		return err;
	start = cryo_vma_scan(mm, vma, *addr, limit, CRYO_BATCH_PAGES * PAGE_SIZE, &end);
	if (start < end) {
		n = min_t(long, (end - start) >> PAGE_SHIFT, room);
		n = take_pages(w, p, vma, start, n);
	}
	mmap_read_unlock(mm);
	if (n < 0 || (!n && start < end)) {
		cryo_warn(w->c, p, "memory %lx-%lx: cannot be read at %lx: %pe",
			  (unsigned long)vma->out.start, (unsigned long)vma->out.end, start,
			  ERR_PTR(n ?: -EFAULT));
		return n ?: -EFAULT;
	}
	*addr = start + n * PAGE_SIZE;
	return add_taken(w, p, vma, start, n);
}

static int save_range(struct cryo_page_writer *w, struct cryo_proc *p,
		      const struct cryo_vma_record *vma, unsigned long addr, unsigned long end)
{
	int err = 0;

	while (!err && addr < end) {
		err = take_run(w, p, vma, &addr, end);
		cond_resched();
		err = err ?: cryo_request_interrupted(w->c->req);
	}
	return err;
}

/*
 * All of it, but for what the process has excluded. @pages: they are written; @note: what is
 * excluded is noted.
 */
static int save_vma_pages(struct cryo_page_writer *w, struct cryo_proc *p,
			  const struct cryo_vma_record *vma, bool pages, bool note)
{
	unsigned long addr = vma->out.start, end = vma->out.end;
	const struct cryo_client_range *skip = NULL;
	unsigned long from, to;
	int err = 0;

	while (!err && addr < end) {
		if (vma->out.kind == CRYO_VMA_ANON)
			skip = cryo_exclusions_find(p, addr, end);
		from = skip ? max_t(unsigned long, addr, skip->start) : end;
		to = skip ? min_t(unsigned long, end, skip->end) : end;
		if (pages)
			err = save_range(w, p, vma, addr, from);
		if (!err && note && from < to)
			err = cryo_exclusions_note(w->c, p, vma, from, to);
		addr = to;
	}
	return err;
}

/*
 * The pages of hugetlbfs of @p, before its other memory is written. What is excluded has been
 * noted, or will be.
 */
int cryo_save_huge_memory(struct cryo_capture *c, struct cryo_proc *p)
{
	int err = cryo_page_writer_select(c->writer, p->mm_id);
	unsigned int i;

	for (i = 0; !err && i < p->nr_vmas; i++)
		if (p->vmas[i].pages && p->vmas[i].huge)
			err = save_vma_pages(c->writer, p, &p->vmas[i], true, false);
	return err;
}

static int save_some_unchanged(struct cryo_capture *c, struct cryo_proc *p,
			       const struct cryo_page_run *runs, unsigned int n)
{
	struct cryo_unchanged head = {
		.parent = p->parent_mm, .nr_runs = n, .record_size = sizeof(*runs),
	};
	struct cryo_buf buf = {};

	cryo_buf_put(&buf, &head, sizeof(head));
	if (n)
		cryo_buf_put(&buf, runs, n * sizeof(*runs));
	return cryo_stream_buf(&c->stream, CRYO_SEC_PAGES_UNCHANGED, p->mm_id, sizeof(head),
			       &buf);
}

/*
 * What cryo_protect_memory() has found to be as in the parent; without runs, if it was only looked
 * for.
 */
int cryo_save_unchanged(struct cryo_capture *c, struct cryo_proc *p)
{
	const struct cryo_page_run *runs = (const struct cryo_page_run *)p->unchanged.data;
	unsigned int left = p->unchanged.len / sizeof(*runs), n;
	int err = 0;

	if (!p->parent_mm)
		return 0;
	do {
		n = min_t(unsigned int, left, CRYO_UNCHANGED_MAX);
		err = save_some_unchanged(c, p, runs, n);
		runs += n;
		left -= n;
	} while (!err && left);
	cryo_buf_free(&p->unchanged);
	return err;
}

u64 cryo_estimate_memory(const struct cryo_proc *p)
{
	return (get_mm_counter(p->mm, MM_ANONPAGES) + (u64)cryo_hugetlb_usage(p->mm)) * PAGE_SIZE;
}

int cryo_save_memory(struct cryo_capture *c, struct cryo_proc *p)
{
	int err = cryo_page_writer_select(c->writer, p->mm_id);
	unsigned int i;

	for (i = 0; !err && i < p->nr_vmas; i++)
		if (p->vmas[i].pages)
			err = save_vma_pages(c->writer, p, &p->vmas[i],
					     !(p->vmas[i].huge && c->huge_saved), true);
	/* As long as processors remember an entry, they do not note that they use its page. */
	cryo_arch_flush_tlb(p->mm);
	return err ?: cryo_save_exclusions(c, p) ?: cryo_save_used(c, p);
}

/* The next entry of @chunk; its pages are the writer's then. */
static int write_entry(struct cryo_page_writer *w, struct cryo_snap_chunk *chunk)
{
	unsigned long entry = chunk->entries[chunk->next];
	struct page *page = (struct page *)(entry & ~CRYO_SNAP_FLAGS);
	unsigned int i, n, flags;
	int err = 0;

	if (entry & CRYO_SNAP_ADDRESS) {
		chunk->address = entry & ~CRYO_SNAP_FLAGS;
		chunk->anon_only = entry & CRYO_SNAP_ANON_ONLY;
		chunk->next++;
		return 0;
	}
	flags = entry & CRYO_SNAP_SHARED ? CRYO_PAGE_SHARED : 0;
	if (chunk->anon_only)
		flags |= CRYO_PAGE_KEEP_ZERO;
	n = entry & CRYO_SNAP_HUGE ? folio_nr_pages(page_folio(page)) : 1;
	for (i = 0; !err && i < n; i++) {
		err = min(cryo_page_writer_room(w), 0);
		if (err)
			break;
		get_page(page + i);
		err = cryo_page_writer_add(w, page + i, chunk->address, flags);
		chunk->address += PAGE_SIZE;
	}
	chunk->next++;
	put_page(page);
	return err;
}

static int write_chunk(struct cryo_page_writer *w, struct cryo_snap_chunk *chunk)
{
	int err = cryo_page_writer_select(w, chunk->mm_id);

	while (!err && chunk->next < chunk->nr)
		err = write_entry(w, chunk);
	return err;
}

/*
 * Write what cryo_protect_memory() has taken. Each page is given back as soon as it has been
 * written.
 */
int cryo_write_snapshot(struct cryo_capture *c, struct cryo_snapshot *s)
{
	struct cryo_page_writer *w = cryo_page_writer_create(c);
	struct cryo_snap_chunk *chunk, *next;
	int err = w ? 0 : -ENOMEM;

	list_for_each_entry_safe(chunk, next, &s->chunks, node) {
		if (!err)
			err = write_chunk(w, chunk);
		if (err)
			break;
		cryo_snap_chunk_free(chunk);
	}
	if (!err)
		err = cryo_page_writer_finish(w);
	cryo_page_writer_destroy(w);
	return err;
}
