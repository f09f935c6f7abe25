/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/mmu_notifier.h: a kernel that has been built without (no KVM, say) knows the types only. */
#ifndef CRYO_COMPAT_MMU_NOTIFIER_H
#define CRYO_COMPAT_MMU_NOTIFIER_H

#include <linux/mm_types.h>
#include <linux/mmu_notifier.h>
#include <linux/rculist.h>

#include "layouts.h"

enum cryo_mmu_event {
	CRYO_MMU_OTHER,
	/* entries are taken out of the page tables, the area stays */
	CRYO_MMU_CLEAR,
	/* pages of a private area are write-protected, for a fork() */
	CRYO_MMU_COPY,
};

#ifdef CONFIG_MMU_NOTIFIER
static inline enum cryo_mmu_event cryo_mmu_range(const struct mmu_notifier_range *range,
						 unsigned long *start, unsigned long *end)
{
	*start = range->start;
	*end = range->end;
	switch (range->event) {
	case MMU_NOTIFY_CLEAR:
		return CRYO_MMU_CLEAR;
	case MMU_NOTIFY_PROTECTION_PAGE:
		return CRYO_MMU_COPY;
	default:
		return CRYO_MMU_OTHER;
	}
}

/*
 * The beginning of struct mmu_notifier_subscriptions, private to mm/mmu_notifier.c, since v5.5
 * (984cfe4e2526).
 */
struct cryo_notifier_list {
	struct hlist_head list;
	bool has_itree;			/* ranges have been subscribed to; never reset */
};

/*
 * Has anybody but @own and @also (NULL: nobody) subscribed to @mm? With mmap_lock held: nobody
 * comes to be the first of @list then. Others may come and go, and are not looked into.
 */
static inline bool cryo_mm_other_notifiers(struct mm_struct *mm, struct mmu_notifier *own,
					   struct mmu_notifier *also)
{
	struct cryo_notifier_list *all;
	struct hlist_node *node;
	unsigned int i;

	lockdep_assert_held(&mm->mmap_lock);
	if (!mm_has_notifiers(mm))
		return false;
	all = (struct cryo_notifier_list *)mm->notifier_subscriptions;
	if (!cryo_layout_fits(CRYO_LAYOUT_NOTIFIERS) || READ_ONCE(all->has_itree))
		return true;
	node = READ_ONCE(all->list.first);
	for (i = 0; i < 2 && node; i++) {
		if ((!own || node != &own->hlist) && (!also || node != &also->hlist))
			return true;
		node = READ_ONCE(node->next);
	}
	return node;
}
#else
static inline int __mmu_notifier_register(struct mmu_notifier *mn, struct mm_struct *mm)
{
	return -EOPNOTSUPP;
}

static inline void mmu_notifier_unregister(struct mmu_notifier *mn, struct mm_struct *mm) {}

/* Never called: nothing is registered. */
static inline enum cryo_mmu_event cryo_mmu_range(const struct mmu_notifier_range *range,
						 unsigned long *start, unsigned long *end)
{
	return CRYO_MMU_OTHER;
}
#endif

#endif
