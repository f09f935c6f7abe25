/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/swapops.h: entries of page tables that are not present. */
#ifndef CRYO_COMPAT_SWAPOPS_H
#define CRYO_COMPAT_SWAPOPS_H

#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/version.h>

/*
 * Does @pte, neither none nor present, say where in a swap area its page is? leafops.h since v6.19.
 */
#if __has_include(<linux/leafops.h>)
#include <linux/leafops.h>

static inline bool cryo_pte_in_swap(pte_t pte)
{
	return softleaf_is_swap(softleaf_from_pte(pte));
}

/* MADV_GUARD_INSTALL, v6.13 7c53dfbdb024. */
#define CRYO_HAS_GUARDS	1

static inline bool cryo_pte_guard(pte_t pte)
{
	return !pte_none(pte) && !pte_present(pte) &&
	       softleaf_is_guard_marker(softleaf_from_pte(pte));
}
#else
static inline bool cryo_pte_in_swap(pte_t pte)
{
	return !non_swap_entry(pte_to_swp_entry(pte));
}

#ifdef PTE_MARKER_GUARD
#define CRYO_HAS_GUARDS	1

static inline bool cryo_pte_guard(pte_t pte)
{
	return !pte_none(pte) && !pte_present(pte) && is_guard_swp_entry(pte_to_swp_entry(pte));
}
#else
#define CRYO_HAS_GUARDS	0

static inline bool cryo_pte_guard(pte_t pte)
{
	return false;
}
#endif
#endif

/*
 * Is what has no soft-dirty bit in swap as it was? UFFDIO_MOVE, new in v6.8 (adef440691ba), took
 * such entries elsewhere as they were: it sets the bit since v6.16, and in 6.12.117. Which stable
 * versions before that do is not known here.
 */
static inline bool cryo_swap_entries_tell_changes(void)
{
	return LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0) ||
	       LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0) ||
	       (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 117) &&
		LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0));
}

/*
 * What may have them is known since v6.19 (5dba5cc2e04f); those of the kernel's own kind never
 * have.
 */
static inline bool cryo_vma_may_have_guards(struct vm_area_struct *vma)
{
#ifdef VM_MAYBE_GUARD
	return vma->vm_flags & VM_MAYBE_GUARD;
#else
	return CRYO_HAS_GUARDS && !(vma->vm_flags & (VM_SPECIAL | VM_HUGETLB));
#endif
}

#endif
