/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/mm.h, linux/mm_types.h: memory descriptors of several generations. */
#ifndef CRYO_COMPAT_MM_H
#define CRYO_COMPAT_MM_H

#include <linux/mm.h>
#include <linux/sched/coredump.h>
#include <linux/version.h>

/* mm->flags: unsigned long up to v6.17, then an opaque bitmap (mm_flags_t). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
static inline bool cryo_mm_flag(int bit, struct mm_struct *mm)
{
	return mm_flags_test(bit, mm);
}
#else
static inline bool cryo_mm_flag(int bit, struct mm_struct *mm)
{
	return test_bit(bit, &mm->flags);
}
#endif

/* prctl(PR_GET_DUMPABLE): the two lowest flags, as get_dumpable() has them where it exists. */
static inline int cryo_get_dumpable(struct mm_struct *mm)
{
	return cryo_mm_flag(0, mm) | cryo_mm_flag(1, mm) << 1;
}

/* mseal(2), v6.10 8be7258aad44. */
static inline bool cryo_vma_sealed(struct vm_area_struct *vma)
{
#ifdef VM_SEALED
	return vma->vm_flags & VM_SEALED;
#else
	return false;
#endif
}

/* v6.5 ca5e863233e8 dropped @vmas, v6.5 b2cac248191b FOLL_REMOTE with its own flag handling. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
static inline long cryo_get_user_pages_remote(struct mm_struct *mm, unsigned long start,
					      unsigned long nr, unsigned int flags,
					      struct page **pages)
{
	return get_user_pages_remote(mm, start, nr, flags, pages, NULL);
}
#else
static inline long cryo_get_user_pages_remote(struct mm_struct *mm, unsigned long start,
					      unsigned long nr, unsigned int flags,
					      struct page **pages)
{
	return get_user_pages_remote(mm, start, nr, flags, pages, NULL, NULL);
}
#endif

#endif
