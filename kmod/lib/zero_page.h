/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zero_page.h - whether a page is nothing but zeros
 *
 * memchr_inv() looks at eight bytes at a time, with a branch for each. Most pages that are asked
 * about are either zero, and all of them has to be read, or differ at once; so this looks at 64
 * bytes for each branch.
 */
#ifndef CRYO_ZERO_PAGE_H
#define CRYO_ZERO_PAGE_H

#include <linux/mm.h>
#include <linux/types.h>

/* @at is the beginning of a page that is mapped. */
static inline bool cryo_page_is_zero(const void *at)
{
	const u64 *word = at;
	const u64 *end = word + PAGE_SIZE / sizeof(*word);

	for (; word < end; word += 8) {
		if (word[0] | word[1] | word[2] | word[3] | word[4] | word[5] | word[6] | word[7])
			return false;
	}
	return true;
}

#endif /* CRYO_ZERO_PAGE_H */
