/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory with tags (PROT_MTE), for tests: instructions, and the control of a thread. */
#ifndef TAGGED_H
#define TAGGED_H

#include "crtest.h"
#include <sys/auxv.h>
#include <sys/prctl.h>

#define MTE_BIT (1UL << 18)		/* of AT_HWCAP2 */
#define TAGS 0x20			/* PROT_MTE */
#define GRANULE 16U
#define TAGGED_SYNC (PR_TAGGED_ADDR_ENABLE | 1UL << 1 | 0xfffeUL << 3)	/* PR_MTE_TCF_SYNC, all tags but 0 */
#define TAG_FAULT 9			/* SEGV_MTESERR */

static inline char *with_tag(const volatile char *address, unsigned int tag)
{
	return (char *)(((uintptr_t)address & ~(15UL << 56)) | (uintptr_t)tag << 56);
}

static inline void set_tag(volatile char *address, unsigned int tag)
{
	__asm__ volatile(".arch armv8.5-a+memtag\n\tstg %0, [%1]" : : "r"(with_tag(address, tag)), "r"(address)
			 : "memory");
}

static inline unsigned int get_tag(const volatile char *address)
{
	uintptr_t tagged = 0;

	__asm__ volatile(".arch armv8.5-a+memtag\n\tldg %0, [%1]" : "+r"(tagged) : "r"(address) : "memory");
	return tagged >> 56 & 15;
}

/* QEMU 7.2 takes the physical address of the page for that of the granule: in a page there are two tags, in turn. */
static inline bool page_has_two_tags(char *page)
{
	bool two;

	set_tag(page, 1);
	set_tag(page + 2 * GRANULE, 2);
	two = get_tag(page) == 2;
	set_tag(page, 0);
	set_tag(page + 2 * GRANULE, 0);
	return two;
}

static inline void need_tags(void)
{
	if (!(getauxval(AT_HWCAP2) & MTE_BIT))
		crt_skip("no memory tagging");
}

#endif
