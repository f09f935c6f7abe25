// SPDX-License-Identifier: GPL-2.0-only
/* Pages never touched, only read, or full of zeros are zero again and not in the context. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE (48UL << 20)

static unsigned char *untouched, *only_read, *zeroed, *shared, *mixed;

static unsigned char *map(int how)
{
	return CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0));
}

static void setup(void)
{
	volatile unsigned char sink = 0;

	untouched = map(MAP_PRIVATE);
	only_read = map(MAP_PRIVATE);
	zeroed = map(MAP_PRIVATE);
	shared = map(MAP_SHARED);
	mixed = map(MAP_PRIVATE);
	for (size_t i = 0; i < SIZE; i += 4096)
		sink |= only_read[i];
	memset(zeroed, 0xff, SIZE);
	memset(zeroed, 0, SIZE);
	memset(shared, 0, SIZE / 4);
	for (size_t i = 0; i < SIZE; i += 1 << 20)
		mixed[i + 17] = (unsigned char)(i >> 20) | 1;
}

static bool all_zero(const unsigned char *p)
{
	return !p[0] && !memcmp(p, p + 1, SIZE - 1);
}

static void verify(void)
{
	int bad = 0;

	crt_ok(all_zero(untouched), "untouched memory is zero");
	crt_ok(all_zero(only_read), "memory that was only read is zero");
	crt_ok(all_zero(zeroed), "memory full of zeros is zero");
	crt_ok(all_zero(shared), "shared memory full of zeros is zero");
	for (size_t i = 0; i < SIZE; i += 1 << 20) {
		bad += mixed[i + 17] != ((unsigned char)(i >> 20) | 1);
		mixed[i + 17] = 0;
	}
	crt_same(bad, 0, "the bytes between zeros are there");
	crt_ok(all_zero(mixed), "and nothing else");
}

const struct crt_test crt_test = {
	.text = "zero pages cost nothing in the context",
	.setup = setup,
	.verify = verify,
	/* Any of the areas has 48 MiB; pages of 64 KiB make 3 MiB of `mixed`, and 1.6 MiB of alignment. */
	.max_context_kib = 8192,
};
