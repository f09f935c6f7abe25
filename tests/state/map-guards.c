// SPDX-License-Identifier: GPL-2.0-only
/* Guard pages (MADV_GUARD_INSTALL) in memory that comes from the context when it is used first: before and after the checkpoint. */
#define _GNU_SOURCE
#include "guards.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 1536UL
#define SAVED 5		/* are guards at the checkpoint */
#define LATER 100	/* become one when they have not come */
#define MOVED 1000

static unsigned char *area;

static void setup(void)
{
	area = CRT_MAP(mmap(NULL, N * crt_page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	fill_pages(area, N);
	guard(area, SAVED, 2);
}

static bool is_right(size_t first, size_t last)
{
	bool good = true;

	for (size_t i = first; i < last; i++) {
		const bool guards = i == SAVED || i == SAVED + 1 || i == LATER || i == MOVED;

		if (guards ? is_guard(area, i) : has_page(area, i))
			continue;
		crt_diag("page %zu is wrong", i);
		good = false;
	}
	return good;
}

static void verify(void)
{
	unsigned char *to;
	int status = -1;
	pid_t pid;

	crt_ok(is_guard(area, SAVED) && is_guard(area, SAVED + 1), "a guard at the checkpoint is one");
	crt_ok(has_page(area, SAVED + 2), "the page behind it is there");
	guard(area, LATER, 1);
	guard(area, MOVED, 1);
	pid = fork();
	if (pid == 0)
		_exit(is_right(0, N) ? 0 : 1);
	if (pid > 0)
		waitpid(pid, &status, 0);
	crt_same(status, 0, "a child has all but those that have become guards since");
	to = CRT_MAP(mremap(area + (MOVED - 4) * crt_page(), 8 * crt_page(), 8 * crt_page(), MREMAP_MAYMOVE | MREMAP_FIXED,
			    CRT_MAP(mmap(NULL, 8 * crt_page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))));
	crt_ok(is_guard(to, 4) && crt_bad(to, crt_page(), (MOVED - 4) % 250 + 1) == -1, "what moves has them, too");
	crt_ok(is_right(0, MOVED - 4) && is_right(MOVED + 4, N), "the parent has all the rest");
	unguard(area, SAVED, 2);
	unguard(area, LATER, 1);
	crt_ok(is_empty(area, SAVED) && is_empty(area, LATER), "when they are removed, nothing is there");
}

const struct crt_test crt_test = {
	.text = "guard pages in memory that comes when it is used first",
	.setup = setup,
	.verify = verify,
	.restart_args = "--map --no-populate",
};
