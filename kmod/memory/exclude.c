// SPDX-License-Identifier: GPL-2.0-only
/*
 * exclude.c - ranges of memory of which a process does not need the contents
 *
 * Its library tells them before it votes, for this checkpoint alone: a request that asks
 * nobody saves all.  They are addresses in the memory that the process had then, and mean
 * nothing after an exec().
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "capture/page_scan.h"
#include "lib/buf.h"
#include "memory/memory.h"

/* Note that [@start, @end), which is in @vma, is not saved, and how many pages of it there are. */
int cryo_exclusions_note(struct cryo_capture *c, struct cryo_proc *p,
			 const struct cryo_vma_record *vma, u64 start, u64 end)
{
	struct cryo_excluded out = { .start = start, .end = end };
	unsigned long at = start, to;
	int err = 0;

	/* Ranges may be of one page each, and as many as there is memory. */
	for (; !err && at < end; at = to) {
		err = cryo_mmap_read_lock(c->req, p->mm);
		if (err)
			break;
		at = cryo_vma_scan(p->mm, vma, at, end, end - at, &to);
		mmap_read_unlock(p->mm);
		out.nr_pages += (to - at) >> PAGE_SHIFT;
		cond_resched();
		err = cryo_request_interrupted(c->req);
	}
	if (err)
		return err;
	cryo_buf_put(&p->left_out, &out, sizeof(out));
	return p->left_out.error;
}

int cryo_save_exclusions(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_array head = { .record_size = sizeof(struct cryo_excluded) };
	struct cryo_buf buf = {};

	head.count = p->left_out.len / sizeof(struct cryo_excluded);
	if (!head.count)
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	cryo_buf_put(&buf, p->left_out.data, p->left_out.len);
	return cryo_stream_buf(&c->stream, CRYO_SEC_EXCLUDED, p->mm_id, sizeof(head), &buf);
}
