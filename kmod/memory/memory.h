/* SPDX-License-Identifier: GPL-2.0-only */
/* memory.h - pages of memory on their way into a context */
#ifndef CRYO_MEMORY_MEMORY_H
#define CRYO_MEMORY_MEMORY_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_proc;
struct cryo_vma_record;

/* pages.c: which pages of private memory belong into the context */

/**
 * cryo_estimate_memory() - bytes that the private memory of a process takes in a context, at most
 *	about
 * @p: the process, which has its mm
 *
 * Pages that are all zero are counted, and are left out later.
 *
 * Return: bytes.
 */
u64 cryo_estimate_memory(const struct cryo_proc *p);

/**
 * cryo_save_memory() - write all private memory of a process
 * @c: the capture, with its writer
 * @p: the process, parked, with its areas collected
 *
 * Adds CRYO_SEC_PAGES, CRYO_SEC_PAGE_COPIES, CRYO_SEC_EXCLUDED and CRYO_SEC_PAGES_USED. The last
 * pages may still be in @c->writer on return: cryo_page_writer_finish().
 *
 * Context: In the requester, without mmap_lock. Sleeps: for mmap_lock, page faults, and the
 * writing.
 *
 * Return: 0; an error of cryo_request_interrupted() or of writing; -ENOMEM, -E2BIG, -EFBIG; or
 * -EFAULT or what get_user_pages_remote() has returned, which is in the log.
 */
int cryo_save_memory(struct cryo_capture *c, struct cryo_proc *p);

/**
 * cryo_save_unchanged() - add CRYO_SEC_PAGES_UNCHANGED: what cryo_protect_memory() has found
 *	unchanged since the parent
 * @c: the capture
 * @p: the process; its @unchanged is freed
 *
 * Nothing if there is no parent to compare with. If there is one, at least one section is added,
 * without runs where all has changed.
 *
 * Context: In the requester. May sleep.
 *
 * Return: 0; -ENOMEM, -E2BIG or -EFBIG.
 */
int cryo_save_unchanged(struct cryo_capture *c, struct cryo_proc *p);

/* used.c: which private anonymous pages a process has used since the checkpoint before */

/**
 * cryo_save_used() - add CRYO_SEC_PAGES_USED: what a process has used since the checkpoint before
 * @c: the capture
 * @p: the process; its @used is freed
 *
 * Nothing if all pages have been used, or none, as then there is no order; nor if there was no
 * memory to note them.
 *
 * Context: In the requester. May sleep.
 *
 * Return: 0; -ENOMEM, -E2BIG or -EFBIG.
 */
int cryo_save_used(struct cryo_capture *c, struct cryo_proc *p);

/* exclude.c: ranges of memory of which a process does not need the contents */
int cryo_exclusions_note(struct cryo_capture *c, struct cryo_proc *p,
			 const struct cryo_vma_record *v, u64 from, u64 to);

/**
 * cryo_save_exclusions() - add CRYO_SEC_EXCLUDED: what cryo_exclusions_note() has noted
 * @c: the capture
 * @p: the process
 *
 * Nothing if nothing is excluded.
 *
 * Context: In the requester. May sleep.
 *
 * Return: 0; -ENOMEM, -E2BIG or -EFBIG.
 */
int cryo_save_exclusions(struct cryo_capture *c, struct cryo_proc *p);

#endif /* CRYO_MEMORY_MEMORY_H */
