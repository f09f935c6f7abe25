/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/swapops.h: entries of page tables that are not present. */
#ifndef CRYO_COMPAT_SWAPOPS_H
#define CRYO_COMPAT_SWAPOPS_H

#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/version.h>

/* Does @pte, neither none nor present, say where in a swap area its page is? leafops.h since v6.19. */
#if __has_include(<linux/leafops.h>)
#include <linux/leafops.h>

static inline bool cryo_pte_in_swap(pte_t pte)
{
	return softleaf_is_swap(softleaf_from_pte(pte));
}
#else
static inline bool cryo_pte_in_swap(pte_t pte)
{
	return !non_swap_entry(pte_to_swp_entry(pte));
}
#endif

#endif
