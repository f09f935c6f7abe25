/* SPDX-License-Identifier: GPL-2.0-only */
/* uprobes.h - what uprobes have put into the memory of processes, which is none of theirs */
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

/* An area that the kernel has made for uprobes: of no use without them, and made again where they are. */
bool cryo_is_uprobe_area(struct vm_area_struct *vma);

/* Is a thread of @req that is parked executing what the kernel has put in the place of an instruction? */
bool cryo_in_uprobe(struct cryo_request *req);

/* The same of @task, of which nothing else can be expected any more, and return probes. */
void cryo_check_uprobes(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task);

/* May there be breakpoints in private pages of @vma, of @p? */
bool cryo_may_have_uprobes(const struct cryo_proc *p, const struct cryo_vma_record *vma);

/*
 * Of one of these, *@page, which is counted, at @addr: in its place comes one of our own that has the file's instructions
 * instead of breakpoints; NULL if that makes it what is in the file. After an error, *@page is as it was. mmap_lock is
 * not held.
 */
int cryo_without_uprobes(struct cryo_capture *c, struct cryo_proc *p,
			 const struct cryo_vma_record *vma, unsigned long addr, struct page **page);

#endif /* CRYO_UPROBES_H */
