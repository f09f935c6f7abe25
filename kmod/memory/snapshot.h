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
/* the first of HPAGE_PMD_NR pages that are counted together */
#define CRYO_SNAP_HUGE		2UL
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
	/* of the next page to be written; while it is filled, of the next one to come */
	unsigned long address;
	bool anon_only;			/* same */
	unsigned long entries[];
};

struct cryo_snapshot {
	struct cryo_request *req;
	int (*stop)(struct cryo_request *req);	/* its processes, once more */
	struct list_head chunks;
	u64 pages;			/* all that were found */
	u64 copied;			/* of them copied while the owner was stopped */
	/* pages that copies may take, ours and those of the owners */
	u64 limit;
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
int cryo_snapshot_init(struct cryo_snapshot *s, struct cryo_capture *c);
void cryo_snapshot_free(struct cryo_snapshot *s);
struct cryo_snap_chunk *cryo_snapshot_chunk(struct cryo_snapshot *s, u32 mm_id, unsigned int room);
void cryo_snap_chunk_free(struct cryo_snap_chunk *chunk);
void cryo_snapshot_watch(struct cryo_snapshot *s);
int cryo_snapshot_check_limit(struct cryo_snapshot *s);

/* protect.c: the memory of @proc */
int cryo_protect_memory(struct cryo_capture *c, struct cryo_proc *proc, struct cryo_snapshot *s);

/* pages.c */
int cryo_write_snapshot(struct cryo_capture *c, struct cryo_snapshot *s);

#endif
