/* SPDX-License-Identifier: GPL-2.0-only */
/* memory.h - the address space: what is where, not the pages */
#ifndef CRYO_SAVE_MEMORY_H
#define CRYO_SAVE_MEMORY_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_mm;
struct cryo_proc;
struct file;
struct mm_struct;
struct task_struct;
struct vm_area_struct;

/* vdso.c: the code that this kernel maps into every process */
u32 cryo_special_kind(struct vm_area_struct *vma);
int cryo_save_vdso(struct cryo_capture *c, struct cryo_proc *p, struct cryo_mm *mm);

/* membarrier.c */
u32 cryo_membarrier_commands(struct mm_struct *mm);

/* tags.c: tags of memory, against which those of addresses are checked */

/**
 * cryo_save_tags() - write the memory tags of the private memory of a process
 * @c: the capture
 * @p: the process, parked, with its areas collected
 *
 * CRYO_SEC_PAGE_TAGS; nothing on an architecture without tags.
 *
 * Context: In the requester, without mmap_lock. May sleep.
 *
 * Return: 0; -ENOMEM, -E2BIG or -EFBIG; or an error of cryo_request_interrupted(), of reading the
 * pages or of writing.
 */
int cryo_save_tags(struct cryo_capture *c, struct cryo_proc *p);

int cryo_save_file_tags(struct cryo_capture *c, struct file *file, loff_t size, u32 kind, u32 id);

#endif /* CRYO_SAVE_MEMORY_H */
