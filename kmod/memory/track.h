/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * track.h - what a process has written to since an earlier checkpoint
 *
 * track.c has the marks, by which it is known since when; protect.c looks at the bits and clears
 * them.
 */
#ifndef CRYO_TRACK_H
#define CRYO_TRACK_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_proc;
struct cryo_request;
struct cryo_track;
struct mm_struct;
struct mmu_notifier;
struct vm_area_struct;

/* Of one memory, from begin to end by one request: others get that there is none meanwhile. */
struct cryo_track *cryo_track_begin(struct cryo_capture *c, struct cryo_proc *p);
void cryo_track_end(struct cryo_capture *c, struct cryo_track *t, bool complete);
bool cryo_track_is_lone(struct cryo_track *t, struct mm_struct *mm, struct mmu_notifier *also);
u32 cryo_track_parent(struct cryo_track *t);
bool cryo_track_add(struct cryo_track *t, struct vm_area_struct *vma, unsigned long start,
		    unsigned long end);
bool cryo_track_covers(struct cryo_track *t, struct vm_area_struct *vma, unsigned long start,
		       unsigned long end);

/* On a checkpoint handle. */
long cryo_track_ask(struct cryo_request *req, void __user *arg);
long cryo_track_commit(struct cryo_request *req, void __user *arg);

u64 cryo_track_serial(void);
void cryo_track_exit(void);

#endif
