/* SPDX-License-Identifier: GPL-2.0-only */
/* hugetlb.h - memory in pages of hugetlbfs: which it is (hugetlb.c) */
#ifndef CRYO_HUGETLB_H
#define CRYO_HUGETLB_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_object;
struct cryo_proc;
struct vm_area_struct;

bool cryo_is_hugetlb(const struct file *file);
bool cryo_is_kernel_hugetlb(const struct file *file);
bool cryo_vma_is_private_huge(struct vm_area_struct *vma);
const char *cryo_hugetlb_obstacle(struct vm_area_struct *vma);
const char *cryo_classify_hugetlb(struct cryo_object *o, bool removed);
/* memory/pages.c */

/**
 * cryo_save_huge_memory() - write the private pages of hugetlbfs of a process, before its other
 *	memory
 * @c: the capture, with its writer
 * @p: the process, parked, with its areas collected
 *
 * For a snapshot, which cannot protect them. Ranges that the process has excluded are left out, and
 * are not noted here. The last pages may still be in @c->writer on return.
 *
 * Context: As of cryo_save_memory().
 *
 * Return: as of cryo_save_memory().
 */
int cryo_save_huge_memory(struct cryo_capture *c, struct cryo_proc *p);

#endif
