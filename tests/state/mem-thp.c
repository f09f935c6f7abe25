// SPDX-License-Identifier: GPL-2.0-only
/* Transparent huge pages: contents, also of one that is only partly mapped. */
#define _GNU_SOURCE
#include "crtest.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE (2UL << 20)

static unsigned char *area;

static void setup(void)
{
	char value[64] = "";
	unsigned char *p;

	if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK))
		crt_skip("kernel without transparent huge pages");
	p = CRT_MAP(mmap(NULL, 5 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	area = (unsigned char *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1));
	CRT_SYS(madvise(area, 4 * HUGE, MADV_HUGEPAGE));
	crt_fill(area, 2 * HUGE, 21);
	area[2 * HUGE + 5] = 9;				/* a huge page, nearly all zero */
	memset(area + 3 * HUGE, 8, HUGE);
	CRT_SYS(munmap(area + 3 * HUGE + HUGE / 2, HUGE / 2));
	CRT_SYS(mprotect(area + crt_page(), crt_page(), PROT_READ));
	crt_smaps(area + 2 * HUGE, "AnonHugePages", value, sizeof(value));
	crt_diag("AnonHugePages %s", value);
}

static void verify(void)
{
	crt_same(crt_bad(area, 2 * HUGE, 21), -1, "contents of two huge pages");
	crt_same(area[2 * HUGE + 5], 9, "the byte in a huge page of zeros");
	area[2 * HUGE + 5] = 0;
	crt_ok(!memcmp(area + 2 * HUGE, area + 2 * HUGE + 1, HUGE - 1), "the zeros around it");
	crt_ok(area[3 * HUGE] == 8 && area[3 * HUGE + HUGE / 2 - 1] == 8, "half a huge page");
	crt_ok(crt_try_read(area + 3 * HUGE + HUGE / 2, NULL), "its other half is not mapped");
	crt_ok(crt_try_write(area + crt_page(), NULL), "the read-only page in a huge page");
	crt_ok(!crt_try_write(area + 8192, NULL), "the writable one after it");
}

const struct crt_test crt_test = {
	.text = "huge pages keep their contents",
	.setup = setup,
	.verify = verify,
	.max_context_kib = 8192,
};
