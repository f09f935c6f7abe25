// SPDX-License-Identifier: GPL-2.0-only
/* Memory that the kernel may empty at any time (MAP_DROPPABLE, v6.11), as the state of getrandom() in the C library. */
#define _GNU_SOURCE
#include "crtest.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define DROPPABLE 0x08
#define SIZE (5 * 4096UL)

static unsigned char *area;

/* "dp" in VmFlags of /proc/self/smaps */
static bool is_droppable(const void *where)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	unsigned long start, end;
	bool here = false, found = false;
	char line[512];

	while (smaps && fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = start <= (unsigned long)where && (unsigned long)where < end;
		else if (here && !strncmp(line, "VmFlags:", 8))
			found = strstr(line, " dp");
	}
	if (smaps)
		fclose(smaps);
	return found;
}

static void setup(void)
{
	area = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, DROPPABLE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		crt_skip("this kernel has no MAP_DROPPABLE");
	crt_fill(area, SIZE, 7);
	crt_ok(is_droppable(area), "it is droppable");
}

static void verify(void)
{
	size_t other = 0;

	crt_ok(is_droppable(area), "it still is");
	for (size_t i = 0; i < SIZE; i++)
		other += area[i] != 0;
	crt_ok(crt_bad(area, SIZE, 7) == -1 || !other, "it has what it had, or nothing");
	crt_fill(area, SIZE, 8);
	crt_same(crt_bad(area, SIZE, 8), -1, "it can be written");
	crt_fill(area, SIZE, 7);
}

const struct crt_test crt_test = {
	.text = "droppable memory stays so",
	.setup = setup,
	.verify = verify,
};
