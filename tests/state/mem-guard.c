// SPDX-License-Identifier: GPL-2.0-only
/* Guard pages: no access, and what was under them before they became guards. */
#define _GNU_SOURCE
#include "crtest.h"
#include <signal.h>
#include <sys/mman.h>

#define PAGE crt_page()
#define N 20

static unsigned char *area;

static void setup(void)
{
	area = CRT_MAP(mmap(NULL, N * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	crt_fill(area, N * PAGE, 7);
	for (int i = 0; i < N; i += 2)
		CRT_SYS(mprotect(area + (size_t)i * PAGE, PAGE, PROT_NONE));
}

static void verify(void)
{
	int open_guards = 0, closed_pages = 0;
	void *fault = NULL;

	for (int i = 0; i < N; i++) {
		unsigned char *p = area + (size_t)i * PAGE;

		if (i % 2)
			closed_pages += crt_try_write(p, NULL) != 0;
		else
			open_guards += crt_try_read(p, NULL) != SIGSEGV;
	}
	crt_same(open_guards, 0, "every guard page stops a read");
	crt_same(closed_pages, 0, "every page between them can be written");
	crt_same(crt_try_write(area + 4 * PAGE + 12, &fault), SIGSEGV, "a write to a guard page is SIGSEGV");
	crt_same((intptr_t)fault, (intptr_t)(area + 4 * PAGE + 12), "at that address");
	CRT_SYS(mprotect(area, N * PAGE, PROT_READ));
	crt_same(crt_bad(area, N * PAGE, 7), -1, "what lies under the guards is there");
}

const struct crt_test crt_test = {
	.text = "guard pages guard, and keep what is under them",
	.setup = setup,
	.verify = verify,
};
