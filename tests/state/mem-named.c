// SPDX-License-Identifier: GPL-2.0-only
/* Names of anonymous memory (PR_SET_VMA_ANON_NAME), where the kernel has them. */
#define _GNU_SOURCE
#include "crtest.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

static unsigned char *area;

static bool named(void)
{
	static char maps[1 << 16];
	char range[32];
	char *line;

	crt_slurp("/proc/self/maps", maps, sizeof(maps));
	snprintf(range, sizeof(range), "%lx-", (unsigned long)area);
	line = strstr(maps, range);
	return line && strstr(line, "[anon:my memory]") && strstr(line, "[anon:my memory]") < strchr(line, '\n');
}

static void setup(void)
{
	area = CRT_MAP(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, area, 8192, "my memory") || !named())
		crt_skip("this kernel has no names for anonymous memory");
}

static void verify(void)
{
	crt_ok(named(), "the name is in /proc/self/maps");
}

const struct crt_test crt_test = {
	.text = "names of anonymous memory",
	.setup = setup,
	.verify = verify,
};
