// SPDX-License-Identifier: GPL-2.0-only
/* What madvise() set on mappings, as /proc/self/smaps shows it. */
#define _GNU_SOURCE
#include "crtest.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE (64UL << 10)

static struct area {
	int advice;
	const char *name, *flag;
	unsigned char *at;
	bool set;
} areas[] = {
	{ MADV_DONTFORK, "MADV_DONTFORK", "dc", NULL, false },
	{ MADV_DONTDUMP, "MADV_DONTDUMP", "dd", NULL, false },
	{ MADV_WIPEONFORK, "MADV_WIPEONFORK", "wf", NULL, false },
	{ MADV_SEQUENTIAL, "MADV_SEQUENTIAL", "sr", NULL, false },
	{ MADV_RANDOM, "MADV_RANDOM", "rr", NULL, false },
	{ MADV_MERGEABLE, "MADV_MERGEABLE", "mg", NULL, false },
	{ MADV_HUGEPAGE, "MADV_HUGEPAGE", "hg", NULL, false },
	{ MADV_NOHUGEPAGE, "MADV_NOHUGEPAGE", "nh", NULL, false },
};

#define N (sizeof(areas) / sizeof(areas[0]))

static bool has(const struct area *a)
{
	char flags[256] = "";

	return crt_smaps(a->at, "VmFlags", flags, sizeof(flags)) && crt_has_word(flags, a->flag);
}

static void setup(void)
{
	for (size_t i = 0; i < N; i++) {
		struct area *a = &areas[i];
		/* a hole after each, so that none of them merge */
		unsigned char *p = CRT_MAP(mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

		CRT_SYS(munmap(p + SIZE, SIZE));
		a->at = p;
		crt_fill(p, SIZE, i);
		madvise(p, SIZE, a->advice);		/* not every kernel has every one */
		a->set = has(a);
	}
}

static void verify(void)
{
	for (size_t i = 0; i < N; i++) {
		crt_same(has(&areas[i]), areas[i].set, "%s: set or not as before", areas[i].name);
		crt_same(crt_bad(areas[i].at, SIZE, i), -1, "%s: contents", areas[i].name);
	}
}

const struct crt_test crt_test = {
	.text = "mappings keep what madvise() set",
	.setup = setup,
	.verify = verify,
};
