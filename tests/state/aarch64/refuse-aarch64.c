// SPDX-License-Identifier: GPL-2.0-only
/* The same as refuse.c, for what only aarch64 has. */
#define _GNU_SOURCE
#include "refuse-run.h"
#include <sys/auxv.h>
#include <sys/mman.h>

#define MTE_BIT (1UL << 18)		/* of AT_HWCAP2 */
#define TAGS 0x20			/* PROT_MTE */

static bool make_tags(void)
{
	void *memory;

	if (!(getauxval(AT_HWCAP2) & MTE_BIT))
		return false;
	memory = CRT_MAP(mmap(NULL, 65536, PROT_READ | PROT_WRITE | TAGS, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	crt_expect("pid %d|memory %lx-%lx: memory with tags (PROT_MTE) is not supported", getpid(),
		   (unsigned long)memory, (unsigned long)memory + 65536);
	return true;
}

struct obstacle obstacles[] = {
	{ .name = "tags", .make = make_tags },
};

const unsigned int nr_obstacles = sizeof(obstacles) / sizeof(obstacles[0]);

const struct crt_test crt_test = {
	.text = "what only this architecture has, and cannot be restored, is refused by name",
	.setup = refuse_setup,
	.verify = refuse_verify,
	.flags = CRT_REFUSE,
	.cases = "tags",
};
