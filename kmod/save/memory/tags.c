// SPDX-License-Identifier: GPL-2.0-only
/*
 * tags.c - tags of memory, against which those of addresses are checked
 *
 * They belong to pages, not to addresses: private memory has those of its own pages, and what is
 * shared those of the pages of its file, which it keeps although nobody has them mapped just now.
 *
 * All of them are read while the processes stand still, for a snapshot, too, and are in each
 * context: a page whose bytes are all zero, or were left out, or are another context's, has tags
 * all the same, and nothing tells which ones have changed. They are a thirty-second part of the
 * memory that has any.
 */
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>

#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "capture/page_scan.h"
#include "compat/mm.h"
#include "cryo_arch.h"
#include "lib/buf.h"
#include "save/memory.h"

#define TAKE_PAGES	64

struct tag_copy {
	struct cryo_capture *c;
	u32 kind;			/* CRYO_PAGES_* */
	u32 object;
	u32 tag_bytes;			/* of a page */
	unsigned int nr_pages;
	unsigned int nr_runs;
	struct cryo_page_run runs[CRYO_PAGES_MAX];
	struct page *taken[TAKE_PAGES];
	u8 bytes[];			/* of CRYO_PAGES_MAX pages */
};

/* NULL in *@tags: there are no tags here. */
static int begin_tags(struct cryo_capture *c, u32 kind, u32 object, struct tag_copy **tags)
{
	size_t tag_bytes = cryo_arch_tag_bytes();
	struct tag_copy *t;

	*tags = NULL;
	if (!tag_bytes)
		return 0;
	t = kvzalloc(struct_size(t, bytes, CRYO_PAGES_MAX * tag_bytes), GFP_KERNEL_ACCOUNT);
	if (!t)
		return -ENOMEM;
	t->c = c;
	t->kind = kind;
	t->object = object;
	t->tag_bytes = tag_bytes;
	*tags = t;
	return 0;
}

static int flush_tags(struct tag_copy *t)
{
	struct cryo_page_tags head = {
		.kind = t->kind,
		.nr_runs = t->nr_runs,
		.record_size = sizeof(t->runs[0]),
		.nr_pages = t->nr_pages,
		.tag_bytes = t->tag_bytes,
	};
	struct cryo_stream *s = &t->c->stream;
	struct cryo_buf buf = {};
	int err;

	if (!t->nr_pages)
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	cryo_buf_put(&buf, t->runs, t->nr_runs * sizeof(t->runs[0]));
	cryo_buf_put(&buf, t->bytes, t->nr_pages * t->tag_bytes);
	t->nr_pages = 0;
	t->nr_runs = 0;
	err = cryo_stream_buf(s, CRYO_SEC_PAGE_TAGS, t->object, sizeof(head), &buf);
	/* As page data: in memory as long as there is room for them there. */
	if (!err && s->offset >= s->keep)
		err = cryo_stream_flush(s);
	return err ?: cryo_request_interrupted(t->c->req);
}

/* There is room for one more. */
static void add_page(struct tag_copy *t, struct page *page, u64 start)
{
	struct cryo_page_run *run = t->nr_runs ? &t->runs[t->nr_runs - 1] : NULL;

	if (!cryo_arch_read_tags(page, t->bytes + t->nr_pages * t->tag_bytes))
		return;
	t->nr_pages++;
	if (run && run->start + run->nr_pages * PAGE_SIZE == start)
		run->nr_pages++;
	else
		t->runs[t->nr_runs++] = (struct cryo_page_run){ .start = start, .nr_pages = 1 };
}

/* The next pages of @vma from *@addr on. */
static int take_tags(struct tag_copy *t, struct cryo_proc *p, const struct cryo_vma_record *vma,
		     unsigned long *addr)
{
	unsigned long end = vma->out.end, start, to;
	struct mm_struct *mm = p->mm;
	long n = 0, i;
	int err;

	err = cryo_mmap_read_lock(t->c->req, mm);
	if (err)
		return err;
	start = cryo_page_scan(mm, *addr, end, TAKE_PAGES * PAGE_SIZE, &to);
	if (start < to) {
		n = min3((long)((to - start) >> PAGE_SHIFT), (long)TAKE_PAGES,
			 (long)(CRYO_PAGES_MAX - t->nr_pages));
		n = cryo_get_user_pages_remote(mm, start, n, FOLL_FORCE, t->taken);
	}
	mmap_read_unlock(mm);
	if (n < 0 || (!n && start < to)) {
		cryo_warn(t->c, p, "memory %lx-%lx: tags cannot be read at %lx: %pe",
			  (unsigned long)vma->out.start, end, start,
			  ERR_PTR(n ?: -EFAULT));
		return n ?: -EFAULT;
	}
	for (i = 0; i < n; i++) {
		/* Where it is still the file's page, the tags are the file's, too. */
		if (!vma->anon_only || PageAnon(t->taken[i]))
			add_page(t, t->taken[i], start + i * PAGE_SIZE);
		put_page(t->taken[i]);
	}
	*addr = start + n * PAGE_SIZE;
	return 0;
}

static int save_vma_tags(struct tag_copy *t, struct cryo_proc *p, const struct cryo_vma_record *vma)
{
	unsigned long addr = vma->out.start;
	int err = 0;

	while (!err && addr < vma->out.end) {
		if (t->nr_pages == CRYO_PAGES_MAX)
			err = flush_tags(t);
		if (!err)
			err = take_tags(t, p, vma, &addr);
		cond_resched();
		err = err ?: cryo_request_interrupted(t->c->req);
	}
	return err;
}

int cryo_save_tags(struct cryo_capture *c, struct cryo_proc *p)
{
	const struct cryo_vma_record *vma;
	struct tag_copy *t = NULL;
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < p->nr_vmas; i++) {
		vma = &p->vmas[i];
		if (!vma->pages || !cryo_arch_is_tagged(vma->out.flags))
			continue;
		if (!t)
			err = begin_tags(c, CRYO_PAGES_MM, p->mm_id, &t);
		if (!err && t)
			err = save_vma_tags(t, p, vma);
	}
	if (!err && t)
		err = flush_tags(t);
	kvfree(t);
	return err;
}

static int add_file_page(struct tag_copy *t, struct file *file, loff_t pos)
{
	struct page *page;
	int err = 0;

	if (t->nr_pages == CRYO_PAGES_MAX)
		err = flush_tags(t);
	if (err)
		return err;
	page = shmem_read_mapping_page(file->f_mapping, pos >> PAGE_SHIFT);
	/* Cut off meanwhile, by somebody outside. */
	if (IS_ERR(page))
		return PTR_ERR(page) == -EINVAL ? 0 : PTR_ERR(page);
	add_page(t, page, pos);
	put_page(page);
	return 0;
}

/* What is no hole. */
static int save_file_tags(struct tag_copy *t, struct file *file, loff_t size)
{
	loff_t pos = 0, hole;
	int err = 0;

	while (!err && pos < size) {
		pos = vfs_llseek(file, pos, SEEK_DATA);
		if (pos == -ENXIO)
			break;
		if (pos < 0)
			return pos;
		hole = vfs_llseek(file, pos, SEEK_HOLE);
		if (hole < 0)
			return hole;
		for (pos = round_down(pos, PAGE_SIZE); !err && pos < min(hole, size);
		     pos += PAGE_SIZE) {
			err = add_file_page(t, file, pos) ?:
			      cryo_request_interrupted(t->c->req);
			cond_resched();
		}
	}
	return err ?: flush_tags(t);
}

/*
 * Those of @file, whose contents are in the context: only memory has any, so that others than
 * tmpfs's have none. Its offset is moved: nobody else has it open.
 */
int cryo_save_file_tags(struct cryo_capture *c, struct file *file, loff_t size, u32 kind, u32 id)
{
	struct tag_copy *t;
	int err;

	if (file_inode(file)->i_sb->s_magic != TMPFS_MAGIC)
		return 0;
	err = begin_tags(c, kind, id, &t);
	if (!err && t)
		err = save_file_tags(t, file, size);
	kvfree(t);
	return err;
}
