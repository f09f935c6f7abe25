// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guard pages that are in page tables only (MADV_GUARD_INSTALL), as C libraries put them below the stacks of threads: in memory that
 * is used, in memory that never was, in shared memory and that of a file, in locked memory, and very many.
 */
#define _GNU_SOURCE
#include "guards.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define N 20
#define MANY 10000	/* more than one section of a context has */

static unsigned char *used, *untouched, *shared, *file, *locked, *many;

static unsigned char *map(size_t pages, int flags, int fd)
{
	return CRT_MAP(mmap(NULL, pages * crt_page(), PROT_READ | PROT_WRITE, flags, fd, 0));
}

static void setup(void)
{
	int fd = (int)CRT_SYS(open(crt_path("file"), O_RDWR | O_CREAT | O_TRUNC, 0600));

	used = map(N, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	fill_pages(used, N);
	guard(used, 3, 1);
	guard(used, 7, 3);
	untouched = map(N, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	guard(untouched, 0, 1);
	shared = map(N, MAP_SHARED | MAP_ANONYMOUS, -1);
	fill_pages(shared, N);
	guard(shared, 4, 2);
	CRT_SYS(ftruncate(fd, (off_t)(N * crt_page())));
	file = map(N, MAP_PRIVATE, fd);
	close(fd);
	fill_pages(file, N / 2);
	guard(file, 5, 1);
	guard(file, N - 2, 2);
	locked = map(2, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	fill_pages(locked, 2);
	guard(locked, 1, 1);
	(void)!mlock(locked, 2 * crt_page());	/* says that it cannot have all, and is locked then */
	many = map(2 * MANY, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	for (size_t i = 0; i < MANY; i++)
		guard(many, 2 * i + 1, 1);
}

static void verify_only(const unsigned char *area, size_t first, size_t n, size_t pages, const char *what)
{
	bool guards = true, others = true;

	for (size_t i = 0; i < pages; i++) {
		if (i >= first && i < first + n)
			guards &= is_guard(area, i);
		else
			others &= has_page(area, i);
	}
	crt_ok(guards, "%s: guards stop a read", what);
	crt_ok(others, "%s: the rest has its bytes", what);
}

static void verify_used(void)
{
	bool others = true;

	for (size_t i = 0; i < N; i++)
		others &= i == 3 || (i >= 7 && i < 10) || has_page(used, i);
	crt_ok(is_guard(used, 3) && is_guard(used, 7) && is_guard(used, 8) && is_guard(used, 9),
	       "guards in memory that is used stop a read");
	crt_ok(others, "the pages between them have their bytes");
	unguard(used, 7, 3);
	crt_ok(is_empty(used, 7) && is_empty(used, 9), "when they are removed, nothing is there");
	guard(used, 7, 3);
}

static void verify(void)
{
	bool all = true;

	verify_used();
	crt_ok(is_guard(untouched, 0) && is_empty(untouched, 1), "a guard in memory that has never been used");
	verify_only(shared, 4, 2, N, "shared memory");
	verify_only(file, 5, 1, N / 2, "private memory of a file");
	crt_ok(is_guard(file, N - 1) && is_empty(file, N / 2), "... beyond what has been written to");
	verify_only(locked, 1, 1, 2, "locked memory");
	for (size_t i = 0; i < MANY; i += 97)
		all &= is_guard(many, 2 * i + 1) && is_empty(many, 2 * i);
	crt_ok(all && is_guard(many, 2 * MANY - 1), "%d guards, and the pages between them", MANY);
}

const struct crt_test crt_test = {
	.text = "guard pages in page tables guard, in memory of any kind",
	.setup = setup,
	.verify = verify,
};
