// SPDX-License-Identifier: GPL-2.0-only
/*
 * aio.c - contexts of io_setup(2)
 *
 * A context on which nothing is under way is its ring, which the program has in its memory: how
 * many events it holds, and those that have not been taken. What is under way ends by itself,
 * mostly, as it was submitted: to disks.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <uapi/linux/aio_abi.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "capture/read_memory.h"
#include "compat/aio.h"
#include "compat/layouts.h"
#include "lib/buf.h"
#include "lib/wait.h"
#include "resources.h"
#include "save/memory/aio.h"

#define AIO_WAIT_MS	500U	/* for requests under way, in all processes together */

/* How many contexts there are at most, or whether any has a request under way. */
static unsigned int look_at_contexts(struct mm_struct *mm, bool *busy)
{
	struct cryo_kioctx_table *table;
	struct cryo_kioctx *ctx;
	unsigned int i, n = 0;

	*busy = false;
	rcu_read_lock();
	table = cryo_kioctx_table(mm);
	for (i = 0; table && i < table->nr; i++) {
		ctx = rcu_dereference(table->table[i]);
		if (!ctx)
			continue;
		n++;
		*busy |= cryo_aio_under_way(ctx);
	}
	rcu_read_unlock();
	return n;
}

static int wait_until_idle(struct cryo_capture *c, struct cryo_proc *p, unsigned int *n)
{
	bool busy;
	int err;

	*n = look_at_contexts(p->mm, &busy);
	if (busy && !c->aio_limit)
		c->aio_limit = jiffies + msecs_to_jiffies(AIO_WAIT_MS);
	while (busy && !time_after(jiffies, c->aio_limit)) {
		cryo_sleep(1);
		err = cryo_capture_interrupted(c);
		if (err)
			return err;
		*n = look_at_contexts(p->mm, &busy);
	}
	if (busy)
		cryo_refuse(c, p, "requests of asynchronous I/O (io_submit) are under way");
	return 0;
}

static int compare_rings(const void *a, const void *b)
{
	const struct cryo_aio *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return 0;
}

/* There is room for @n. Nobody makes one meanwhile: all are parked. */
static unsigned int copy_contexts(struct mm_struct *mm, struct cryo_aio *out, unsigned int n)
{
	struct cryo_kioctx_table *table;
	struct cryo_kioctx *ctx;
	unsigned int i, at = 0;

	rcu_read_lock();
	table = cryo_kioctx_table(mm);
	for (i = 0; table && i < table->nr && at < n; i++) {
		ctx = rcu_dereference(table->table[i]);
		if (!ctx)
			continue;
		out[at].start = ctx->mmap_base;
		out[at].size = ctx->mmap_size;
		out[at].max_reqs = ctx->max_reqs;
		out[at].nr = ctx->nr_events;
		at++;
	}
	rcu_read_unlock();
	return at;
}

/* Each area with a ring is all of that of a context, and each context has one. Both ascend. */
static void match_areas(struct cryo_capture *c, struct cryo_proc *p)
{
	const struct cryo_aio *ring = (const struct cryo_aio *)p->notes[CRYO_NOTE_AIO].data;
	const struct cryo_aio *end = ring + p->notes[CRYO_NOTE_AIO].len / sizeof(*ring);
	const struct cryo_vma_record *r = p->vmas, *last = r + p->nr_vmas;

	for (; r < last; r++) {
		if (r->out.kind != CRYO_VMA_AIO)
			continue;
		for (; ring < end && ring->start < r->out.start; ring++)
			cryo_refuse(c, p, "asynchronous I/O context (io_setup) %llx: its ring is not mapped",
				    ring->start);
		if (ring < end && ring->start == r->out.start &&
		    ring->size == r->out.end - r->out.start)
			ring++;
		else
			cryo_refuse(c, p, "memory %llx-%llx: a ring of asynchronous I/O (io_setup) that is not the process's own, or part of one, is not supported",
				    r->out.start, r->out.end);
	}
	for (; ring < end; ring++)
		cryo_refuse(c, p, "asynchronous I/O context (io_setup) %llx: its ring is not mapped",
			    ring->start);
}

/* When the areas have been collected. */
static int collect_aio(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_aio *rings;
	unsigned int n;
	int err;

	if (!cryo_layout_fits(CRYO_LAYOUT_AIO)) {
		if (cryo_mm_has_aio(p->mm))
			cryo_refuse(c, p, "asynchronous I/O contexts (io_setup), whose structures differ in this kernel from those that Cryo knows (cr_info --check), are not supported");
		return 0;
	}
	err = wait_until_idle(c, p, &n);
	if (err)
		return err;
	rings = n ? cryo_buf_add(&p->notes[CRYO_NOTE_AIO], n * sizeof(*rings)) : NULL;
	if (rings) {
		memset(rings, 0, n * sizeof(*rings));
		n = copy_contexts(p->mm, rings, n);
		p->notes[CRYO_NOTE_AIO].len = n * sizeof(*rings);
		sort(rings, n, sizeof(*rings), compare_rings, NULL);
	}
	if (!p->notes[CRYO_NOTE_AIO].error)
		match_areas(c, p);
	return p->notes[CRYO_NOTE_AIO].error;
}

/* The events from @from up to @to, which the ring does not end between. */
static int put_events(struct cryo_capture *c, struct cryo_proc *p, struct cryo_buf *buf,
		      const struct cryo_aio *ring, u32 from, u32 to)
{
	size_t size = (size_t)(to - from) * sizeof(struct io_event);
	void *events = size ? cryo_buf_add(buf, size) : NULL;

	if (!events)
		return buf->error;
	return cryo_read_memory(c->req, p->task, ring->start + CRYO_AIO_EVENTS +
				(u64)from * sizeof(struct io_event), events, size);
}

static int put_ring(struct cryo_capture *c, struct cryo_proc *p, struct cryo_buf *buf,
		    struct cryo_aio *ring)
{
	struct cryo_aio_ring now;
	int err = cryo_read_memory(c->req, p->task, ring->start, &now, sizeof(now));

	if (err)
		return err;
	/* The program can write there. */
	if (now.nr != ring->nr || now.head >= now.nr || now.tail >= now.nr)
		return -EINVAL;
	ring->head = now.head;
	ring->tail = now.tail;
	cryo_buf_put(buf, ring, sizeof(*ring));
	if (now.head <= now.tail)
		return put_events(c, p, buf, ring, now.head, now.tail);
	return put_events(c, p, buf, ring, now.head, now.nr) ?:
	       put_events(c, p, buf, ring, 0, now.tail);
}

static int save_aio(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_aio *ring = (struct cryo_aio *)p->notes[CRYO_NOTE_AIO].data;
	struct cryo_aio *end = ring + p->notes[CRYO_NOTE_AIO].len / sizeof(*ring);
	int err = 0;

	for (; !err && ring < end; ring++) {
		struct cryo_buf buf = {};

		err = cryo_capture_interrupted(c) ?: put_ring(c, p, &buf, ring);
		if (err == -EFAULT || err == -EINVAL) {
			cryo_refuse(c, p, "asynchronous I/O context (io_setup) %llx: its ring cannot be read, or has been written over",
				    ring->start);
			cryo_buf_free(&buf);
			err = 0;
			continue;
		}
		if (err)
			cryo_buf_free(&buf);
		else
			err = cryo_stream_buf(&c->stream, CRYO_SEC_AIO, p->mm_id, sizeof(*ring),
					      &buf);
	}
	return err;
}

const struct cryo_resource cryo_resource_aio = {
	.collect_memory = collect_aio,
	.save_memory = save_aio,
};
