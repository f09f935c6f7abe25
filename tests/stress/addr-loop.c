// SPDX-License-Identifier: GPL-2.0-only
/* A program with mappings all over its address space, one line per restart. */
#define _GNU_SOURCE
#include "crtest.h"
#include <string.h>
#include <sys/mman.h>

#define N 40
#define SIZE (64UL << 10)

static unsigned char *area[N];
static char maps_before[1 << 16], maps_now[1 << 16];

static void setup(void)
{
	for (int i = 0; i < N; i++) {
		/* wherever the kernel takes the hint, from low to high */
		void *hint = (void *)(0x10000000UL + (unsigned long)i * 0x300000000UL * (i % 8 + 1));

		area[i] = CRT_MAP(mmap(hint, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		crt_fill(area[i], SIZE, (uint64_t)i);
	}
	crt_slurp("/proc/self/maps", maps_before, sizeof(maps_before));
	crt_slurp("/proc/self/maps", maps_before, sizeof(maps_before));
}

/* Up to the first blank of each line: the ranges. */
static bool same_ranges(const char *a, const char *b)
{
	while (*a && *b) {
		size_t n = strcspn(a, " ");

		if (n != strcspn(b, " ") || memcmp(a, b, n))
			return false;
		a += strcspn(a, "\n") + 1;
		b += strcspn(b, "\n") + 1;
	}
	return *a == *b;
}

static void verify(void)
{
	int bad = 0;

	for (int i = 0; i < N; i++)
		bad += crt_bad(area[i], SIZE, (uint64_t)i) != -1;
	crt_slurp("/proc/self/maps", maps_now, sizeof(maps_now));
	crt_ok(!bad && same_ranges(maps_before, maps_now), "memory and addresses are as they were");
}

const struct crt_test crt_test = {
	.text = "a program spread over its address space",
	.setup = setup,
	.verify = verify,
	.timeout_s = 60,
};
