/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * track.h - what a process has written to since an earlier checkpoint
 *
 * track.c has the marks, by which it is known since when; protect.c reads the bits and clears
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

/*
 * Of one address space; used by one request from cryo_track_begin() to cryo_track_end(). Meanwhile
 * the former returns NULL to others.
 */
struct cryo_track *cryo_track_begin(struct cryo_capture *c, struct cryo_proc *p);
void cryo_track_end(struct cryo_capture *c, struct cryo_track *t, bool complete);

/**
 * cryo_track_is_lone() - does nothing else follow the page tables of an address space by a
 *	notifier?
 * @t: its track; NULL: the one that it has, if any
 * @mm: the address space
 * @also: one more notifier that does not count; NULL: none
 *
 * There is no new first one as long as the caller holds mmap_lock.
 *
 * Context: With mmap_lock of @mm.
 *
 * Return: true: there is none but these.
 */
bool cryo_track_is_lone(struct cryo_track *t, struct mm_struct *mm, struct mmu_notifier *also);

u32 cryo_track_parent(struct cryo_track *t);
bool cryo_track_add(struct cryo_track *t, struct vm_area_struct *vma, unsigned long start,
		    unsigned long end);
bool cryo_track_covers(struct cryo_track *t, struct vm_area_struct *vma, unsigned long start,
		       unsigned long end);

/* Calls of a checkpoint handle. */

/**
 * cryo_track_ask() - CRYO_CKPT_PARENT: note the parent of a context, and whether its track is there
 * @req: the request, which has not run
 * @arg: the argument of that call, a struct cryo_ckpt_context, whose @tracked is filled
 *
 * Context: In a caller of the handle. Takes cryo_request_lock().
 *
 * Return: 0; -EBUSY: the request has run; -EINTR: killed; -EPERM, -ESRCH: the target may not be
 * traced, or has gone; or an error of cryo_copy_args().
 */
long cryo_track_ask(struct cryo_request *req, void __user *arg);

/**
 * cryo_track_commit() - CRYO_CKPT_COMPLETE: name the context that the tracks of a request belong to
 * @req: the request, done or held, with CRYO_CKPT_TRACK
 * @arg: the argument of that call, a struct cryo_ckpt_context
 *
 * Context: In a caller of the handle. Takes cryo_request_lock().
 *
 * Return: 0; -EINVAL: the request is in another state, or tracks nothing; -EINTR: killed; -EPERM,
 * -ESRCH: the target may not be traced, or has gone; or an error of cryo_copy_args().
 */
long cryo_track_commit(struct cryo_request *req, void __user *arg);

/**
 * cryo_track_serial() - the number of the next capture that tracks
 *
 * Return: a number that no other capture has, and not 0.
 */
u64 cryo_track_serial(void);

/**
 * cryo_track_exit() - drop all tracks
 *
 * Context: In the module's exit, when no handle is open. Sleeps: waits for the notifiers.
 */
void cryo_track_exit(void);

#endif
