// SPDX-License-Identifier: GPL-2.0-only
/*
 * guards.c - pages that a process has made guards (MADV_GUARD_INSTALL)
 *
 * They are in page tables only, in memory of any kind. What was there is gone: no pages are saved
 * of them.
 */
#include <linux/mm.h>

#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "capture/page_scan.h"
#include "compat/swapops.h"
#include "lib/buf.h"
#include "resources.h"
#include "save/memory.h"

struct guard_search {
	struct cryo_capture *c;
	struct cryo_proc *p;
	unsigned long addr;		/* all before it has been looked at */
	struct cryo_page_run *runs;
	unsigned int nr;
};

static int add_guard(struct guard_search *s, struct vm_area_struct *vma, unsigned long from,
		     unsigned long to)
{
	struct cryo_page_run *last = s->nr ? &s->runs[s->nr - 1] : NULL;
	u64 nr_pages = (to - from) >> PAGE_SHIFT;

	/* Of one area, only looked at in several steps. */
	if (last && last->start >= vma->vm_start &&
	    last->start + last->nr_pages * PAGE_SIZE == from)
		last->nr_pages += nr_pages;
	else if (s->nr < CRYO_GUARDS_MAX)
		s->runs[s->nr++] = (struct cryo_page_run){ .start = from,
							   .nr_pages = nr_pages };
	else
		return -ENOSPC;
	return 0;
}

/* -ENOSPC: there is no room for the next one, at @addr. */
static int find_in_vma(struct guard_search *s, struct vm_area_struct *vma)
{
	unsigned long to;
	int err = 0;

	s->addr = max(s->addr, vma->vm_start);
	while (!err && s->addr < vma->vm_end) {
		s->addr = cryo_guard_scan(vma->vm_mm, s->addr, vma->vm_end, &to);
		if (s->addr < to)
			err = add_guard(s, vma, s->addr, to);
		if (!err)
			s->addr = to;
		cond_resched();
		err = err ?: cryo_capture_interrupted(s->c);
	}
	return err;
}

/* The next ones. -ENOSPC: there may be more. */
static int find_guards(struct guard_search *s)
{
	struct mm_struct *mm = s->p->mm;
	VMA_ITERATOR(vmi, mm, s->addr);
	struct vm_area_struct *vma;
	int err;

	s->nr = 0;
	err = cryo_mmap_read_lock(s->c->req, mm);
	if (err)
		return err;
	for_each_vma(vmi, vma) {
		if (cryo_vma_may_have_guards(vma))
			err = find_in_vma(s, vma);
		if (err)
			break;
	}
	mmap_read_unlock(mm);
	return err;
}

static int save_some_guards(struct guard_search *s)
{
	struct cryo_array head = { .count = s->nr, .record_size = sizeof(*s->runs) };
	struct cryo_buf buf = {};

	if (!s->nr)
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	cryo_buf_put(&buf, s->runs, s->nr * sizeof(*s->runs));
	return cryo_stream_buf(&s->c->stream, CRYO_SEC_GUARDS, s->p->mm_id, sizeof(head), &buf);
}

static int save_guards(struct cryo_capture *c, struct cryo_proc *p)
{
	struct guard_search s = { .c = c, .p = p };
	int err, found;

	if (!CRYO_HAS_GUARDS)
		return 0;
	s.runs = kvmalloc_array(CRYO_GUARDS_MAX, sizeof(*s.runs), GFP_KERNEL_ACCOUNT);
	if (!s.runs)
		return -ENOMEM;
	do {
		found = find_guards(&s);
		err = found && found != -ENOSPC ? found : save_some_guards(&s);
	} while (!err && found);
	kvfree(s.runs);
	return err;
}

const struct cryo_resource cryo_resource_guards = {
	.save_memory = save_guards,
};
