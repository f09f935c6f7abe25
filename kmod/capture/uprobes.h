/* SPDX-License-Identifier: GPL-2.0-only */
/* uprobes.h - breakpoints and areas that uprobes have put into the memory of a process */
#ifndef CRYO_UPROBES_H
#define CRYO_UPROBES_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_proc;
struct cryo_request;
struct cryo_vma_record;
struct mm_struct;
struct page;
struct task_struct;
struct vm_area_struct;

/**
 * cryo_is_uprobe_area() - has the kernel made an area for uprobes?
 * @vma: the area
 *
 * It is of no use without them, and made again where they are.
 *
 * Context: With mmap_lock.
 *
 * Return: true: it has.
 */
bool cryo_is_uprobe_area(struct vm_area_struct *vma);

/**
 * cryo_in_uprobe() - is a parked thread executing what the kernel has put in the place of an
 *	instruction?
 * @req: the request
 *
 * Context: In the requester.
 *
 * Return: true: one is.
 */
bool cryo_in_uprobe(struct cryo_request *req);

/**
 * cryo_check_uprobes() - refuse a thread that is in a uprobe, or in a function with a return probe
 * @c: the capture
 * @p: its process
 * @task: the thread, of which nothing else can be expected any more
 */
void cryo_check_uprobes(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task);

/**
 * cryo_may_have_uprobes() - may there be breakpoints in private pages?
 * @p: the process
 * @vma: an area of its
 *
 * Return: true: there may.
 */
bool cryo_may_have_uprobes(const struct cryo_proc *p, const struct cryo_vma_record *vma);

/**
 * cryo_without_uprobes() - a page as it is without breakpoints
 * @c: the capture
 * @p: the process
 * @vma: an area that may have some
 * @addr: of the page
 * @page: the page, counted; in its place comes one that has the instructions of the file, or NULL
 *	where that makes it what is in the file
 *
 * Context: Without mmap_lock. May sleep.
 *
 * Return: 0, or a negative errno: then @page is as it was.
 */
int cryo_without_uprobes(struct cryo_capture *c, struct cryo_proc *p,
			 const struct cryo_vma_record *vma, unsigned long addr, struct page **page);

#endif /* CRYO_UPROBES_H */
