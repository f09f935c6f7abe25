// SPDX-License-Identifier: GPL-2.0-only
/* The heap: brk where it was, and it still grows. */
#define _GNU_SOURCE
#include "crtest.h"
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 500

static unsigned char *block[BLOCKS], *raw;
static size_t size[BLOCKS];
static void *break_before;

static void setup(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 30);		/* all of it from brk */
	for (int i = 0; i < BLOCKS; i++) {
		size[i] = 16 + (size_t)i * 37 % 9000;
		block[i] = malloc(size[i]);
		crt_fill(block[i], size[i], (uint64_t)i);
	}
	for (int i = 0; i < BLOCKS; i += 7) {
		free(block[i]);
		block[i] = NULL;
	}
	raw = CRT_MAP(sbrk(3 << 12));
	crt_fill(raw, 3 << 12, 99);
	break_before = sbrk(0);
}

static void verify(void)
{
	int bad = 0;
	unsigned char *more;

	crt_same((intptr_t)sbrk(0), (intptr_t)break_before, "the break is where it was");
	for (int i = 0; i < BLOCKS; i++)
		bad += block[i] && crt_bad(block[i], size[i], (uint64_t)i) != -1;
	crt_same(bad, 0, "no block is wrong");
	crt_same(crt_bad(raw, 3 << 12, 99), -1, "memory below the break");
	more = sbrk(1 << 20);
	crt_same((intptr_t)more, (intptr_t)break_before, "the break moves on from there");
	memset(more, 1, 1 << 20);
	crt_same(brk(break_before), 0, "and back");
	for (int i = 0; i < 2000; i++) {
		void *p = malloc((size_t)i * 31 % 5000 + 1);

		bad += !p;
		if (i % 2)
			free(p);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
	crt_same(bad, 0, "malloc() and free() go on");
}

const struct crt_test crt_test = {
	.text = "the heap and its break are where they were, and grow",
	.setup = setup,
	.verify = verify,
};
