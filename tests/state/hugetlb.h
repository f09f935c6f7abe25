/* SPDX-License-Identifier: GPL-2.0-only */
/* hugetlb.h - huge pages for tests: by permission only, which holds no memory when nobody uses them */
#ifndef HUGETLB_H
#define HUGETLB_H

#include "crtest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of the default size, which MAP_HUGETLB alone asks for; 0: this kernel has none. */
static inline size_t huge_size(void)
{
	char text[16384], *at;

	crt_slurp("/proc/meminfo", text, sizeof(text));
	at = strstr(text, "Hugepagesize:");
	return at ? strtoul(at + strlen("Hugepagesize:"), NULL, 10) << 10 : 0;
}

/* So many may be taken from the machine's memory; the test is skipped where it has not that much in one piece. */
static inline void huge_allow(unsigned int pages)
{
	size_t size = huge_size();
	char path[128], text[16];
	void *p;

	if (!size)
		crt_skip("kernel without hugetlbfs");
	snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%zukB/nr_overcommit_hugepages", size >> 10);
	snprintf(text, sizeof(text), "%u", pages);
	crt_put(path, text, 0);
	p = mmap(NULL, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (p == MAP_FAILED)
		crt_skip("this machine cannot have %u huge pages of %zu KiB", pages, size >> 10);
	CRT_SYS(munmap(p, pages * size));
}

static inline unsigned char *huge_map(size_t pages, int flags)
{
	return CRT_MAP(mmap(NULL, pages * huge_size(), PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_HUGETLB | flags, -1, 0));
}

/* Is the area at @at of pages of the size @size? */
static inline void huge_same_size(const void *at, size_t size, const char *what)
{
	char value[64] = "";

	crt_smaps(at, "KernelPageSize", value, sizeof(value));
	crt_same((long long)strtoul(value, NULL, 10) << 10, (long long)size, "%s: bytes of its pages", what);
}

#endif
