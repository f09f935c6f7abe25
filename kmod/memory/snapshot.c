// SPDX-License-Identifier: GPL-2.0-only
/*
 * snapshot.c - the list of pages of a snapshot, and what it may cost
 *
 * While it is being written, each page that its owner writes to is copied, by the kernel and at the
 * owner's expense. The request limits how much that may be. Nobody tells when a page is copied; but
 * then nobody has the old one but we, so that the writer looks through a sample of what is left,
 * now and then. When there is too much of it, or memory becomes short, the processes are stopped
 * again until the rest is written.
 */
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include <cryo/ioctl.h>

#include "capture/capture.h"
#include "compat/mm.h"
#include "lib/memcg.h"
#include "memory/snapshot.h"

#define LOOK_JIFFIES	max(HZ / 100, 1)
#define SAMPLE		4096U		/* pages of one look */
#define SMALL		(SZ_16M >> PAGE_SHIFT)	/* not worth watching */
/*
 * In a control group with less left than this, a program may run into its limit between two looks.
 */
#define LEAST_MARGIN	(SZ_256M >> PAGE_SHIFT)

/* Pages that the control groups of @task may still take. */
static u64 margin_of(struct task_struct *task)
{
	u64 margin;

	rcu_read_lock();
	margin = cryo_memcg_margin(mem_cgroup_from_task(task), true);
	rcu_read_unlock();
	return margin;
}

static u64 least_margin(struct cryo_request *req)
{
	u64 margin = U64_MAX;
	struct cryo_proc *p;

	cryo_for_each_proc(p, req)
		margin = min(margin, margin_of(p->leader));
	return margin;
}

static u64 available_pages(void)
{
	return max(si_mem_available(), 0L);
}

static u64 pages_of(struct cryo_capture *c)
{
	struct cryo_proc *p;
	u64 pages = 0;

	cryo_for_each_proc(p, c->req)
		if (p->mm && !p->mm_saved)
			pages += get_mm_counter(p->mm, MM_ANONPAGES);
	return pages;
}

int cryo_no_snapshot(struct cryo_capture *c, const struct cryo_proc *p,
		     const struct cryo_snapshot *s, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	if (s->goes_on)
		cryo_log(&c->req->log, "pid %d (%s): no snapshot: %pV; written while stopped",
			 p->pid, p->comm, &vaf);
	else
		cryo_log(&c->req->log, "pid %d (%s): dirty tracking is not available: %pV",
			 p->pid, p->comm, &vaf);
	va_end(args);
	return CRYO_NO_SNAPSHOT;
}

int cryo_snapshot_init(struct cryo_snapshot *s, struct cryo_capture *c)
{
	u64 asked = c->req->args.snapshot_limit >> PAGE_SHIFT;
	u64 margin = least_margin(c->req), pages = pages_of(c);

	s->req = c->req;
	INIT_LIST_HEAD(&s->chunks);
	s->limit = min(asked ?: available_pages() / 4, available_pages() / 4 * 3);
	if (pages <= s->limit && pages <= margin / 4)
		return 0;
	if (margin < LEAST_MARGIN)
		return cryo_no_snapshot(c, cryo_first_proc(c->req), s,
					"its control group has only %llu KiB left",
					margin << (PAGE_SHIFT - 10));
	s->limit = min(s->limit, margin / 4);
	return 0;
}

static void put_entry(unsigned long entry)
{
	if (!(entry & CRYO_SNAP_ADDRESS))
		put_page((struct page *)(entry & ~CRYO_SNAP_FLAGS));
}

/* With all that is in it and has not been written. */
void cryo_snap_chunk_free(struct cryo_snap_chunk *chunk)
{
	for (; chunk->next < chunk->nr; chunk->next++)
		put_entry(chunk->entries[chunk->next]);
	list_del(&chunk->node);
	kvfree(chunk);
	cond_resched();
}

void cryo_snapshot_free(struct cryo_snapshot *s)
{
	struct cryo_snap_chunk *chunk, *next;

	if (s->watched)
		timer_delete_sync(&s->timer);
	s->watched = false;
	list_for_each_entry_safe(chunk, next, &s->chunks, node)
		cryo_snap_chunk_free(chunk);
}

/* One of the memory @mm_id, with room for as many entries; NULL: no memory. */
struct cryo_snap_chunk *cryo_snapshot_chunk(struct cryo_snapshot *s, u32 mm_id, unsigned int room)
{
	struct cryo_snap_chunk *chunk;

	if (!list_empty(&s->chunks)) {
		chunk = list_last_entry(&s->chunks, struct cryo_snap_chunk, node);
		if (chunk->mm_id == mm_id && chunk->nr + room <= CRYO_SNAP_ENTRIES)
			return chunk;
	}
	chunk = kvmalloc(struct_size(chunk, entries, CRYO_SNAP_ENTRIES),
			 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!chunk)
		return NULL;
	memset(chunk, 0, sizeof(*chunk));
	chunk->mm_id = mm_id;
	list_add_tail(&chunk->node, &s->chunks);
	return chunk;
}

/* How many of the pages of @entry nobody has but we. */
static unsigned int lost_pages(unsigned long entry)
{
	struct page *page = (struct page *)(entry & ~CRYO_SNAP_FLAGS);
	struct folio *folio = page_folio(page);
	int mapped;

	if (!(entry & CRYO_SNAP_HUGE))
		return entry & CRYO_SNAP_COPY || !cryo_page_mapped(page);
	if (folio_entire_mapcount(folio))
		return 0;
	mapped = cryo_folio_mapcount(folio);
	return mapped < folio_nr_pages(folio) ? folio_nr_pages(folio) - mapped : 0;
}

/* The same of a whole chunk, at about, from @sample of its entries. */
static u64 look_at_chunk(struct cryo_snap_chunk *chunk, unsigned int sample)
{
	unsigned int left = chunk->nr - chunk->next;
	u64 seen = 0, lost = 0;
	unsigned long entry;

	if (!left)
		return 0;
	while (sample--) {
		entry = chunk->entries[chunk->next + get_random_u32() % left];
		if (entry & CRYO_SNAP_ADDRESS)
			continue;
		seen += entry & CRYO_SNAP_HUGE ?
			folio_nr_pages(page_folio((struct page *)(entry & ~CRYO_SNAP_FLAGS))) : 1;
		lost += lost_pages(entry);
	}
	if (!seen)
		return 0;
	return div_u64(div_u64(chunk->pages * left, chunk->nr) * lost, seen);
}

static u64 extra_pages(struct cryo_snapshot *s)
{
	struct cryo_snap_chunk *chunk;
	unsigned int chunks = 0;
	u64 lost = 0;

	list_for_each_entry(chunk, &s->chunks, node)
		chunks++;
	list_for_each_entry(chunk, &s->chunks, node)
		lost += look_at_chunk(chunk, max(SAMPLE / chunks, 1U));
	return lost;
}

static void stop_again(struct cryo_snapshot *s, const char *why, u64 extra)
{
	struct cryo_request *req = s->req;
	int err;

	timer_delete_sync(&s->timer);
	s->watched = false;
	err = s->stop(req);
	cryo_log(&req->log,
		 "pid %d (%s): %s (%llu KiB of copies): %s until the context is written", req->pid,
		 req->comm, why, extra << (PAGE_SHIFT - 10),
		 err ? "cannot freeze it again, it runs" : "stopped again");
}

/* Who reads what is written may be stopped by that, and nobody would go on. */
static int snapshot_over_limit(struct cryo_snapshot *s, const char *why, u64 extra)
{
	struct cryo_request *req = s->req;

	if (!(req->args.flags & CRYO_CKPT_GOES_ON)) {
		stop_again(s, why, extra);
		return 0;
	}
	cryo_log(&req->log, "pid %d (%s): %s (%llu KiB of copies): the process is resumed",
		 req->pid, req->comm, why, extra << (PAGE_SHIFT - 10));
	return -EDEADLK;
}

int cryo_snapshot_check_limit(struct cryo_snapshot *s)
{
	int err = 0;
	u64 extra;

	if (!s->watched || time_before(jiffies, READ_ONCE(s->next_look)))
		return 0;
	extra = extra_pages(s);
	if (extra > s->limit)
		err = snapshot_over_limit(s, "the snapshot has reached its limit", extra);
	else if (extra && (available_pages() < totalram_pages() / 50 ||
			   least_margin(s->req) < LEAST_MARGIN / 4))
		err = snapshot_over_limit(s, "memory is short", extra);
	WRITE_ONCE(s->next_look, jiffies + LOOK_JIFFIES);
	return err;
}

/* The writer may be waiting for a slow reader. */
static void poke_writer(struct timer_list *timer)
{
	struct cryo_snapshot *s = container_of(timer, struct cryo_snapshot, timer);

	if (time_after_eq(jiffies, READ_ONCE(s->next_look)))
		cryo_request_poke(s->req);
	mod_timer(timer, jiffies + LOOK_JIFFIES);
}

void cryo_snapshot_watch(struct cryo_snapshot *s)
{
	if (s->pages <= min_t(u64, s->limit, SMALL))
		return;
	timer_setup(&s->timer, poke_writer, 0);
	s->next_look = jiffies + LOOK_JIFFIES;
	s->watched = true;
	mod_timer(&s->timer, s->next_look);
}
