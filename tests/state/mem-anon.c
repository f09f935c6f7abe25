// SPDX-License-Identifier: GPL-2.0-only
/* Anonymous memory, private and shared, at both of its addresses. */
#define _GNU_SOURCE
#include "crtest.h"
#include <sys/mman.h>

#define SIZE (4UL << 20)

static unsigned char *priv, *shared, *again;

static void setup(void)
{
	priv = CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	shared = CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	/* an old size of 0 makes a second mapping of the same object */
	again = CRT_MAP(mremap(shared, 0, SIZE, MREMAP_MAYMOVE));
	crt_fill(priv, SIZE / 2, 1);			/* the second half is never touched */
	priv[SIZE - 1] = 0x5a;
	crt_fill(shared + SIZE / 4, SIZE / 4, 2);
}

static void verify(void)
{
	crt_same(crt_bad(priv, SIZE / 2, 1), -1, "private: no byte is wrong");
	crt_same(priv[SIZE - 1], 0x5a, "private: last byte");
	crt_same(priv[SIZE * 3 / 4], 0, "private: untouched is zero");
	crt_same(crt_bad(shared + SIZE / 4, SIZE / 4, 2), -1, "shared: no byte is wrong");
	crt_same(crt_bad(again + SIZE / 4, SIZE / 4, 2), -1, "shared: the same through the second mapping");
	crt_same(shared[SIZE - 1], 0, "shared: untouched is zero");
	shared[5] = 77;
	crt_same(again[5], 77, "shared: both mappings are one object");
	priv[SIZE - 2] = 78;
	crt_same(priv[SIZE - 2], 78, "private: can be written");
}

const struct crt_test crt_test = {
	.text = "private and shared anonymous memory keeps its bytes and its identity",
	.setup = setup,
	.verify = verify,
};
