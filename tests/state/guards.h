// SPDX-License-Identifier: GPL-2.0-only
/* Pages that are made guards without a change of the area (MADV_GUARD_INSTALL, v6.13). */
#ifndef GUARDS_H
#define GUARDS_H

#include "crtest.h"
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

/* Which not every C library knows. */
#define GUARD_INSTALL 102
#define GUARD_REMOVE 103

/* Of those from @first on, @n in number. */
static inline void guard(unsigned char *area, size_t first, size_t n)
{
	if (!madvise(area + first * crt_page(), n * crt_page(), GUARD_INSTALL))
		return;
	if (errno == EINVAL)
		crt_skip("this kernel has no MADV_GUARD_INSTALL, or not for such memory");
	crt_die("madvise: MADV_GUARD_INSTALL of %zu pages: error %d", n, errno);
}

static inline void unguard(unsigned char *area, size_t first, size_t n)
{
	CRT_SYS(madvise(area + first * crt_page(), n * crt_page(), GUARD_REMOVE));
}

static inline bool is_guard(const unsigned char *area, size_t i)
{
	void *fault = NULL;

	return crt_try_read((unsigned char *)area + i * crt_page() + 5, &fault) == SIGSEGV &&
	       fault == area + i * crt_page() + 5;
}

/* Page @i of what crt_fill() has put into @area, whose pages are filled one by one. */
static inline bool has_page(const unsigned char *area, size_t i)
{
	return crt_bad(area + i * crt_page(), crt_page(), (unsigned int)(i % 250 + 1)) == -1;
}

static inline void fill_pages(unsigned char *area, size_t n)
{
	for (size_t i = 0; i < n; i++)
		crt_fill(area + i * crt_page(), crt_page(), (unsigned int)(i % 250 + 1));
}

static inline bool is_empty(const unsigned char *area, size_t i)
{
	for (size_t at = 0; at < crt_page(); at++)
		if (area[i * crt_page() + at])
			return false;
	return true;
}

#endif
