/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/mmu_notifier.h: a kernel that has been built without (no KVM, say) knows the types only. */
#ifndef CRYO_COMPAT_MMU_NOTIFIER_H
#define CRYO_COMPAT_MMU_NOTIFIER_H

#include <linux/mmu_notifier.h>

#ifdef CONFIG_MMU_NOTIFIER
/* Is it one in which entries are taken out of the page tables, the area staying? */
static inline bool cryo_mmu_range(const struct mmu_notifier_range *range,
				  unsigned long *start, unsigned long *end)
{
	*start = range->start;
	*end = range->end;
	return range->event == MMU_NOTIFY_CLEAR;
}
#else
static inline int mmu_notifier_register(struct mmu_notifier *mn, struct mm_struct *mm)
{
	return -EOPNOTSUPP;
}

static inline void mmu_notifier_unregister(struct mmu_notifier *mn, struct mm_struct *mm) {}

/* Never called: nothing is registered. */
static inline bool cryo_mmu_range(const struct mmu_notifier_range *range,
				  unsigned long *start, unsigned long *end)
{
	return false;
}
#endif

#endif
