// SPDX-License-Identifier: GPL-2.0-only
/* Reservations of 1 TiB cost nothing in the context, and can be used afterwards. */
#define _GNU_SOURCE
#include "crtest.h"
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE (1UL << 40)
#define USED (700UL << 30)

static unsigned char *none, *noreserve;

static void setup(void)
{
	none = CRT_MAP(mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
	noreserve = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (noreserve == MAP_FAILED)
		noreserve = NULL;			/* vm.overcommit_memory=2 */
	CRT_SYS(mprotect(none + USED, 4096, PROT_READ | PROT_WRITE));
	strcpy((char *)none + USED, "in the middle");
	if (noreserve)
		strcpy((char *)noreserve + USED, "and here");
}

static void verify(void)
{
	crt_same_str((char *)none + USED, "in the middle", "the page in use");
	crt_same(crt_try_read(none, NULL), SIGSEGV, "the start cannot be read");
	crt_same(crt_try_read(none + SIZE - 1, NULL), SIGSEGV, "nor the end");
	crt_same(mprotect(none + SIZE / 2, 4096, PROT_READ | PROT_WRITE), 0, "a page in between can be put to use");
	none[SIZE / 2] = 1;
	if (noreserve) {
		crt_same_str((char *)noreserve + USED, "and here", "the page in use of the writable one");
		noreserve[SIZE - 1] = 5;
		crt_same(noreserve[SIZE - 1], 5, "its last page can be used");
	}
}

#ifndef MEM_RESERVE_INCLUDED
const struct crt_test crt_test = {
	.text = "1 TiB reservations are kept and cost nothing",
	.setup = setup,
	.verify = verify,
	.max_context_kib = 4096,
};
#endif
