// SPDX-License-Identifier: GPL-2.0-only
/* Thousands of mappings next to each other, holes between mappings, and 64 MiB of contents. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <sys/mman.h>

#define PAGE crt_page()
#define PIECES 4000UL
#define BIG (64UL << 20)

static unsigned char *stripes, *comb, *big;

static unsigned char *map(size_t size)
{
	return CRT_MAP(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void setup(void)
{
	stripes = map(PIECES * PAGE);
	comb = map(PIECES * PAGE);
	big = map(BIG);
	crt_fill(stripes, PIECES * PAGE, 61);
	crt_fill(big, BIG, 62);
	for (size_t i = 0; i < PIECES; i += 2) {
		comb[(i + 1) * PAGE] = (unsigned char)(i >> 1);
		CRT_SYS(mprotect(stripes + i * PAGE, PAGE, PROT_READ));
		CRT_SYS(munmap(comb + i * PAGE, PAGE));
	}
}

/* mincore() fails where nothing is mapped. */
static bool mapped(void *at)
{
	unsigned char vec;

	return mincore(at, PAGE, &vec) == 0 || errno != ENOMEM;
}

static void verify(void)
{
	int wrong = 0, teeth = 0;

	crt_same(crt_bad(big, BIG, 62), -1, "64 MiB of contents");
	crt_same(crt_bad(stripes, PIECES * PAGE, 61), -1, "contents of the pieces");
	for (size_t i = 0; i < PIECES; i += 97)
		wrong += (crt_try_write(stripes + i * PAGE, NULL) == 0) != (i % 2 == 1);
	crt_same(wrong, 0, "protection of the pieces looked at");
	for (size_t i = 0; i < PIECES; i += 2)
		teeth += mapped(comb + i * PAGE) || !mapped(comb + (i + 1) * PAGE) ||
			 comb[(i + 1) * PAGE] != (unsigned char)(i >> 1);
	crt_same(teeth, 0, "holes are holes, and what lies between them is there");
}

const struct crt_test crt_test = {
	.text = "thousands of mappings and much memory",
	.setup = setup,
	.verify = verify,
	.timeout_s = 120,
};
