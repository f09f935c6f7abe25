// SPDX-License-Identifier: GPL-2.0-only
/* Names of anonymous memory (PR_SET_VMA_ANON_NAME), where the kernel has them. */
#define _GNU_SOURCE
#include "crtest.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

#define LARGE (8UL << 20)

static unsigned char *area;	/* three pages: two names, and none */
static unsigned char *large;
static unsigned char *shared;
static size_t page;

static int name(void *where, size_t size, const char *text)
{
	return prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, where, size, text);
}

/* What /proc/self/maps has at the end of the line of @where: @text, or with NULL no name. */
static bool is_named(const unsigned char *where, const char *text)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	bool good = false;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2 && start <= (unsigned long)where &&
		    (unsigned long)where < end)
			good = text ? !!strstr(line, text) : !strstr(line, "[anon:");
	if (maps)
		fclose(maps);
	return good;
}

static void setup(void)
{
	page = crt_page();
	area = CRT_MAP(mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	if (name(area, page, "my memory"))
		crt_skip("this kernel has no names for anonymous memory");
	CRT_SYS(name(area + page, page, "more of it: (80% of 1 page)"));
	large = CRT_MAP(mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	crt_fill(large, LARGE, 3);
	/* As long as names may be: 79 characters. */
	CRT_SYS(name(large, LARGE, "0123456789012345678901234567890123456789012345678901234567890123456789012345678"));
	shared = CRT_MAP(mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	if (name(shared, page, "ours")) {
		crt_diag("shared memory has no names before Linux 6.2");
		shared = NULL;
	}
}

static void verify(void)
{
	crt_ok(is_named(area, "[anon:my memory]"), "the name is in /proc/self/maps");
	crt_ok(is_named(area + page, "[anon:more of it: (80% of 1 page)]"), "that of the next page is");
	crt_ok(is_named(area + 2 * page, NULL), "the last page has none");
	crt_ok(is_named(large,
			"[anon:0123456789012345678901234567890123456789012345678901234567890123456789012345678]"),
	       "a long one is");
	crt_ok(is_named(large + LARGE - page, "[anon:0123"), "to its end");
	crt_same(crt_bad(large, LARGE, 3), -1, "and the bytes of its area");
	if (shared)
		crt_ok(is_named(shared, "[anon_shmem:ours]"), "that of shared memory is");
}

#ifndef RESTART_ARGS
#define RESTART_ARGS NULL
#endif

const struct crt_test crt_test = {
	.text = "names of anonymous memory",
	.setup = setup,
	.verify = verify,
	.restart_args = RESTART_ARGS,
};
