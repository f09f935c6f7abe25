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
int cryo_save_huge_memory(struct cryo_capture *c, struct cryo_proc *p);	/* memory/pages.c */

#endif
