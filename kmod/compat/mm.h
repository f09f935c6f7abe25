/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/mm.h, linux/mm_types.h: memory descriptors of several generations. */
#ifndef CRYO_COMPAT_MM_H
#define CRYO_COMPAT_MM_H

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched/coredump.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#include <linux/sched/exec_state.h>
#endif

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

/* prctl(PR_GET_THP_DISABLE); with an exception for advised areas since v6.18. */
static inline bool cryo_thp_disabled(struct mm_struct *mm)
{
#ifdef MMF_DISABLE_THP_COMPLETELY
	return cryo_mm_flag(MMF_DISABLE_THP_COMPLETELY, mm);
#else
	return cryo_mm_flag(MMF_DISABLE_THP, mm);
#endif
}

/* prctl(PR_GET_DUMPABLE): in the mm's two lowest flags up to v7.0, of the task since. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
static inline int cryo_get_dumpable(struct task_struct *task, struct mm_struct *mm)
{
	struct task_exec_state *state;
	int dumpable = 0;

	rcu_read_lock();
	state = rcu_dereference(task->exec_state);
	if (state)
		dumpable = READ_ONCE(state->dumpable);
	rcu_read_unlock();
	return dumpable;
}
#else
static inline int cryo_get_dumpable(struct task_struct *task, struct mm_struct *mm)
{
	return cryo_mm_flag(0, mm) | cryo_mm_flag(1, mm) << 1;
}
#endif

/* get_mm_exe_file() is not exported; get_file_rcu() takes the pointer's place since v6.7 0ede61d8589c. */
static inline struct file *cryo_get_mm_exe_file(struct mm_struct *mm)
{
	struct file *file;

	rcu_read_lock();
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	file = get_file_rcu(&mm->exe_file);
#else
	file = rcu_dereference(mm->exe_file);
	if (file && !get_file_rcu(file))
		file = NULL;
#endif
	rcu_read_unlock();
	return file;
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

/* MAP_DROPPABLE, v6.11 9651fcedf7b9. */
static inline bool cryo_vma_droppable(struct vm_area_struct *vma)
{
#ifdef VM_DROPPABLE
	return VM_DROPPABLE && vma->vm_flags & VM_DROPPABLE;
#else
	return false;
#endif
}

/* prctl(PR_SET_MDWE), v6.3 b507808ebce2. */
static inline bool cryo_mm_mdwe(struct mm_struct *mm)
{
#ifdef MMF_HAS_MDWE
	return cryo_mm_flag(MMF_HAS_MDWE, mm);
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
