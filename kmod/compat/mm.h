/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/mm.h, linux/mm_types.h: memory descriptors of several generations. */
#ifndef CRYO_COMPAT_MM_H
#define CRYO_COMPAT_MM_H

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched/coredump.h>
#include <linux/seqlock.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#include <linux/sched/exec_state.h>
#endif

#include "lib/point.h"

/* mm->flags: unsigned long up to v6.17, then an opaque bitmap (mm_flags_t). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
static inline bool cryo_mm_flag(int bit, struct mm_struct *mm)
{
	return mm_flags_test(bit, mm);
}

static inline void cryo_set_mm_flag(int bit, struct mm_struct *mm, bool on)
{
	if (on)
		mm_flags_set(bit, mm);
	else
		mm_flags_clear(bit, mm);
}
#else
static inline bool cryo_mm_flag(int bit, struct mm_struct *mm)
{
	return test_bit(bit, &mm->flags);
}

static inline void cryo_set_mm_flag(int bit, struct mm_struct *mm, bool on)
{
	if (on)
		set_bit(bit, &mm->flags);
	else
		clear_bit(bit, &mm->flags);
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

/* prctl(PR_SET_DUMPABLE, 1) of the caller. */
static inline void cryo_make_dumpable(void)
{
	struct task_exec_state *state;

	rcu_read_lock();
	state = rcu_dereference(current->exec_state);
	if (state)
		WRITE_ONCE(state->dumpable, 1);
	rcu_read_unlock();
}
#else
static inline int cryo_get_dumpable(struct task_struct *task, struct mm_struct *mm)
{
	return cryo_mm_flag(0, mm) | cryo_mm_flag(1, mm) << 1;
}

static inline void cryo_make_dumpable(void)
{
	cryo_set_mm_flag(1, current->mm, false);
	cryo_set_mm_flag(0, current->mm, true);
}
#endif

/*
 * get_mm_exe_file() is not exported; get_file_rcu() takes the pointer's place since v6.7
 * 0ede61d8589c.
 */
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

/*
 * prctl(PR_SET_VMA_ANON_NAME), v5.17 9a10064f5625; valid as long as mmap_lock is held.
 * anon_vma_name() is not exported. Up to v6.1 the name shares its place with what areas of files
 * have; since v6.2 d09e8ca6cb93 shared memory has names too.
 */
static inline const char *cryo_vma_anon_name(struct vm_area_struct *vma)
{
#ifdef CONFIG_ANON_VMA_NAME
	if (LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0) && vma->vm_file)
		return NULL;
	return vma->anon_name ? vma->anon_name->name : NULL;
#else
	return NULL;
#endif
}

/* map_shadow_stack(2), v6.6 18e66b695e78; where the kernel is configured for it. */
static inline bool cryo_vma_shadow_stack(struct vm_area_struct *vma)
{
#ifdef VM_SHADOW_STACK
	return vma->vm_flags & VM_SHADOW_STACK;
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

/*
 * With mmap_lock of @mm. Which bits are no part of the address is up to each process since v6.4
 * 428e106ae1ad.
 */
static inline unsigned long cryo_untagged_addr(struct mm_struct *mm, unsigned long addr)
{
	lockdep_assert_held(&mm->mmap_lock);
#ifdef untagged_addr_remote
	return untagged_addr_remote(mm, addr);
#else
	return untagged_addr(addr);
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

/*
 * The lock of the table that @pte is in: ptep_lockptr() has come with v6.12. pte_lockptr() calls
 * pmd_page(), which powerpc does not export.
 */
static inline spinlock_t *cryo_ptep_lockptr(struct mm_struct *mm, pte_t *pte)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	return ptep_lockptr(mm, pte);
#elif !USE_SPLIT_PTE_PTLOCKS
	return &mm->page_table_lock;
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	return ptlock_ptr(virt_to_ptdesc(pte));
#else
	return ptlock_ptr(virt_to_page(pte));
#endif
}

/* Page faults under the lock of an area, without mmap_lock: v6.4 5e31275cc997. */
static inline void cryo_vma_start_write(struct mm_struct *mm, unsigned long addr)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	struct vm_area_struct *vma = find_vma(mm, addr);

	if (vma)
		vma_start_write(vma);
#endif
}

/*
 * mmap_write_trylock(), which has gone with v6.12; and what begins with that lock since its
 * sequence is a seqcount_t.
 */
static inline bool cryo_mmap_write_trylock(struct mm_struct *mm)
{
	if (!down_write_trylock(&mm->mmap_lock))
		return false;
#ifdef CONFIG_PER_VMA_LOCK
	if (__builtin_types_compatible_p(typeof(mm->mm_lock_seq), seqcount_t))
		do_raw_write_seqcount_begin((seqcount_t *)&mm->mm_lock_seq);
#endif
	return true;
}

/*
 * Is a fault being handled under the lock of its area? Then that is released, and the fault has to
 * be retried under mmap_lock (VM_FAULT_RETRY).
 */
static inline bool cryo_fault_left_vma_lock(struct vm_fault *vmf)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	if (vmf->flags & FAULT_FLAG_VMA_LOCK) {
		vma_end_read(vmf->vma);
		return true;
	}
#endif
	return false;
}

/*
 * Does whoever changes the protection of areas have mmap_lock for writing? Looked up in the kernels
 * up to this one; of others nobody knows.
 */
#define CRYO_MPROTECT_LOCKS_MM	(LINUX_VERSION_CODE < KERNEL_VERSION(7, 3, 0))

/*
 * Is the area being changed by the caller, who has told of that only by what he has locked? Others
 * may have mmap_lock for writing since v6.17 (a6fde7add78d), when madvise() takes the lock of the
 * area. cryo_vma_changes_works() sees whether that is still so.
 */
static inline bool cryo_vma_changes(struct vm_area_struct *vma)
{
	if (cryo_wrong(vma_changes))
		return false;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0) && defined(CONFIG_PER_VMA_LOCK)
	return vma->vm_lock_seq == READ_ONCE(vma->vm_mm->mm_lock_seq.sequence);
#elif defined(CONFIG_PREEMPT_RT)
	return atomic_read(&vma->vm_mm->mmap_lock.rwbase.readers) == WRITER_BIAS;
#else
	/* RWSEM_WRITER_LOCKED, of the lock's own file. */
	return atomic_long_read(&vma->vm_mm->mmap_lock.count) & 1;
#endif
}

/* Is that reliable? For any area of the caller's; -EINTR: it is killed. */
static inline int cryo_vma_changes_works(void)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool works;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	vma = find_vma(mm, 0);
	works = vma && !cryo_vma_changes(vma);
	mmap_read_unlock(mm);
	if (mmap_write_lock_killable(mm))
		return -EINTR;
	vma = find_vma(mm, 0);
	if (vma)
		cryo_vma_start_write(mm, vma->vm_start);
	works = works && vma && cryo_vma_changes(vma);
	mmap_write_unlock(mm);
	return works ? 0 : -EOPNOTSUPP;
}

/*
 * How often all pages of a large folio together are mapped; inline since v6.10 (05c5323b2a34), not
 * exported before.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
static inline int cryo_folio_mapcount(struct folio *folio)
{
	return folio_mapcount(folio);
}
#else
static inline int cryo_folio_mapcount(struct folio *folio)
{
	int whole = folio_entire_mapcount(folio);
	long i, n = folio_nr_pages(folio);
	int count = whole;

	for (i = 0; i < n; i++)
		count += atomic_read(&folio_page(folio, i)->_mapcount) + 1;
	/*
	 * Mapped whole by one and in parts by another, v6.1: each page counts the former as one
	 * more.
	 */
	if (PageDoubleMap(&folio->page))
		count -= n;
	return count;
}
#endif

/* The same of any folio. */
static inline int cryo_any_mapcount(struct folio *folio)
{
	if (folio_test_large(folio))
		return cryo_folio_mapcount(folio);
	return atomic_read(&folio->_mapcount) + 1;
}

/*
 * One more mapping of an anonymous page, which is not exclusive and no part of a large folio. The
 * lock of a mapping is held.
 */
static inline void cryo_dup_anon_rmap(struct page *page)
{
	atomic_inc(&page_folio(page)->_mapcount);
}

/*
 * add_mm_counter(MM_ANONPAGES), whose tracepoint is not exported; a percpu counter since v6.2
 * (f1a7941243c1).
 */
static inline void cryo_add_anon_pages(struct mm_struct *mm, long n)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	percpu_counter_add(&mm->rss_stat[MM_ANONPAGES], n);
#else
	atomic_long_add(n, &mm->rss_stat.count[MM_ANONPAGES]);
#endif
}

/* vm_flags_clear(): v6.3 1c71222e5f23. With mmap_lock held for writing. */
static inline void cryo_vma_clear_flags(struct vm_area_struct *vma, unsigned long flags)
{
	lockdep_assert_held_write(&vma->vm_mm->mmap_lock);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_clear(vma, flags);
#else
	vma->vm_flags &= ~flags;
#endif
}

static inline void cryo_vma_set_flags(struct vm_area_struct *vma, unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

/*
 * Does anybody map @page? Of one in a large folio v6.10 and later tell it only for all together:
 * then it is right as often as it is so of the others.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
static inline bool cryo_page_mapped(struct page *page)
{
	struct folio *folio = page_folio(page);

	if (!folio_test_large(folio))
		return folio_mapped(folio);
	return get_random_u32() % folio_nr_pages(folio) < folio_mapcount(folio);
}
#else
static inline bool cryo_page_mapped(struct page *page)
{
	return page_mapcount(page) > 0;
}
#endif

#endif
