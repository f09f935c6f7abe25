/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * snapshot.h - private memory as it is at one moment, while its owner goes on
 *
 * protect.c takes references to the pages and makes the owner copy before it writes; pages.c
 * writes them; snapshot.c has the list in between, and watches what the copies take.
 */
#ifndef CRYO_SNAPSHOT_H
#define CRYO_SNAPSHOT_H

#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/pgtable.h>
#include <linux/timer.h>
#include <linux/types.h>

struct cryo_capture;
struct cryo_proc;
struct cryo_request;

/*
 * What is in a chunk, in order. With CRYO_SNAP_ADDRESS, the pages that follow begin there; without,
 * a counted page: the address of its struct page, and flags in the bits that this leaves free.
 */
#define CRYO_SNAP_ADDRESS	1UL	/* an address */
#define CRYO_SNAP_ANON_ONLY	2UL	/* with it: zeros count here, see struct cryo_vma_record */
#define CRYO_SNAP_HUGE		2UL	/* the first of HPAGE_PMD_NR pages with one reference */
#define CRYO_SNAP_COPY		4UL	/* ours: a copy */
#define CRYO_SNAP_SHARED	8UL	/* other processes may have it, too */
#define CRYO_SNAP_FLAGS		15UL

/* Of a chunk: 64 KiB of memory. Not less than a page table may need. */
#define CRYO_SNAP_ENTRIES	max(8000UL, 4UL * PTRS_PER_PTE)

struct cryo_snap_chunk {
	struct list_head node;		/* in cryo_snapshot.chunks */
	u32 mm_id;
	unsigned int nr;
	unsigned int next;		/* the first that has not been written */
	u64 pages;			/* in it at first */
	unsigned long address;		/* of the next page to be written, or added */
	bool anon_only;			/* same */
	unsigned long entries[];
};

struct cryo_snapshot {
	struct cryo_request *req;
	int (*stop)(struct cryo_request *req);	/* its processes, once more */
	struct list_head chunks;
	u64 pages;			/* all that were found */
	u64 copied;			/* of them copied while the owner was stopped */
	u64 limit;			/* pages that all copies may take, those of owners, too */
	bool goes_on;			/* its owner, before all has been written */
	bool watched;			/* more may become necessary than the limit allows */
	unsigned long next_look;	/* jiffies */
	struct timer_list timer;
};

/* Cannot be had (the log says why): write while stopped.  Other errors are negative. */
#define CRYO_NO_SNAPSHOT	1

/* snapshot.c */
/* Why there is none, for the log; returns CRYO_NO_SNAPSHOT. */
__printf(4, 5) int cryo_no_snapshot(struct cryo_capture *c, const struct cryo_proc *p,
				    const struct cryo_snapshot *s, const char *fmt, ...);

/**
 * cryo_snapshot_init() - begin a snapshot, and find out how much may be copied for it
 * @s: all zero, but for its @stop and @goes_on
 * @c: the capture, whose processes are parked and have their mm
 *
 * Context: In the requester.
 *
 * Return: 0; CRYO_NO_SNAPSHOT: memory control groups have too little left, which the log tells.
 */
int cryo_snapshot_init(struct cryo_snapshot *s, struct cryo_capture *c);

/**
 * cryo_snapshot_free() - stop the timer, and drop the references to all pages that have not been
 *	written
 * @s: the snapshot; not itself freed
 *
 * Context: In the requester. May sleep.
 */
void cryo_snapshot_free(struct cryo_snapshot *s);

struct cryo_snap_chunk *cryo_snapshot_chunk(struct cryo_snapshot *s, u32 mm_id, unsigned int room);
void cryo_snap_chunk_free(struct cryo_snap_chunk *chunk);

/**
 * cryo_snapshot_watch() - begin to check how much is copied, by a timer that interrupts the writer
 * @s: the snapshot; a small one is not watched
 *
 * Context: In the requester, before the processes are thawed.
 */
void cryo_snapshot_watch(struct cryo_snapshot *s);

/**
 * cryo_snapshot_check_limit() - have the copies reached their limit, or is memory short?
 * @s: the snapshot
 *
 * If so, the processes are stopped again by @s->stop until the context is written; the log tells.
 * It is an error with CRYO_CKPT_GOES_ON.
 *
 * Context: In the requester, between two writes (struct cryo_stream.look). May sleep.
 *
 * Return: 0: the writing goes on; -EDEADLK: it must not.
 */
int cryo_snapshot_check_limit(struct cryo_snapshot *s);

/* protect.c: the memory of @proc */

/**
 * cryo_protect_memory() - take references to the private pages of a process, and write-protect them
 * @c: the capture
 * @proc: the process, parked, with its areas collected
 * @s: the snapshot; gets the pages
 *
 * Pages with references that are not accounted for (I/O in flight) are copied instead. Pages that
 * are unchanged since the parent go into @proc->unchanged, ranges that are excluded into
 * @proc->left_out, and pages that have been used into @proc->used.
 *
 * Context: In the requester, without mmap_lock, which is taken for writing. Sleeps.
 *
 * Return: 0; CRYO_NO_SNAPSHOT: the log tells why; -ENOMEM; an error of cryo_request_interrupted();
 * -EFAULT or what get_user_pages_remote() has returned, which is in the log.
 */
int cryo_protect_memory(struct cryo_capture *c, struct cryo_proc *proc, struct cryo_snapshot *s);

/* pages.c */

/**
 * cryo_write_snapshot() - write what cryo_protect_memory() has taken
 * @c: the capture
 * @s: the snapshot; each page is put as soon as it has been written
 *
 * Context: In the requester; the processes may run. Sleeps: waits for the disk or a reader.
 *
 * Return: 0; an error of cryo_request_interrupted(), of cryo_snapshot_check_limit() or of writing;
 * -ENOMEM, -E2BIG or -EFBIG.
 */
int cryo_write_snapshot(struct cryo_capture *c, struct cryo_snapshot *s);

#endif
