// SPDX-License-Identifier: GPL-2.0-only
/* Shared mappings of a file that was open for reading only: they see what others write, and cannot be made writable. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE 8192

static unsigned char *memory;
static int writer;

static void setup(void)
{
	const char *path = crt_make_file("data", SIZE, 7);
	int reader = (int)CRT_SYS(open(path, O_RDONLY));

	writer = (int)CRT_SYS(open(path, O_RDWR));
	memory = CRT_MAP(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, reader, 0));
	CRT_SYS(close(reader));
}

static void verify(void)
{
	char line[512], first[32], perms[8] = "";
	FILE *maps = fopen("/proc/self/maps", "r");

	snprintf(first, sizeof(first), "%lx-", (unsigned long)memory);
	while (maps && fgets(line, sizeof(line), maps))
		if (!strncmp(line, first, strlen(first)))
			sscanf(line, "%*s %7s", perms);
	fclose(maps);
	crt_same_str(perms, "r--s", "its permissions");
	crt_same(crt_bad(memory, SIZE, 7), -1, "its contents");
	crt_ok(mprotect(memory, SIZE, PROT_READ | PROT_WRITE) && errno == EACCES, "it cannot be made writable");
	CRT_SYS(pwrite(writer, "new", 3, 4096));
	crt_ok(!memcmp(memory + 4096, "new", 3), "it shows what is written to the file");
}

const struct crt_test crt_test = {
	.text = "a shared mapping of a file that was open for reading only",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ONCE,
};
