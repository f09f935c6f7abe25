// SPDX-License-Identifier: GPL-2.0-only
/* A file mapped shared: what is written through the mapping is in the file. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096UL
#define SIZE (32 * PAGE)

static unsigned char *map, *half;
static int fd;

static void setup(void)
{
	const char *path = crt_make_file("data", SIZE, 4);

	fd = (int)CRT_SYS(open(path, O_RDWR));
	map = CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	half = CRT_MAP(mmap(NULL, SIZE / 2, PROT_READ, MAP_SHARED, fd, SIZE / 2));
	memset(map + 3 * PAGE, 0xaa, PAGE);		/* dirty in the page cache only */
}

static bool in_file(off_t at, unsigned char byte)
{
	unsigned char c = (unsigned char)~byte;

	return pread(fd, &c, 1, at) == 1 && c == byte;
}

static void verify(void)
{
	unsigned char buf[PAGE];

	memset(buf, 0xaa, PAGE);
	crt_ok(!memcmp(map + 3 * PAGE, buf, PAGE), "what was written through the mapping is there");
	crt_ok(in_file(3 * PAGE + 7, 0xaa), "and in the file");
	map[PAGE] = 0x11;
	crt_ok(in_file(PAGE, 0x11), "a write through the mapping reaches the file");
	map[SIZE / 2 + 9] = 0x22;
	crt_same(half[9], 0x22, "and the other mapping");
	buf[0] = 0x33;
	CRT_SYS(pwrite(fd, buf, 1, 2 * PAGE));
	crt_same(map[2 * PAGE], 0x33, "a write to the file reaches the mapping");
	crt_same(mprotect(half, SIZE / 2, PROT_READ | PROT_WRITE), 0, "the mapping may still become writable");
}

const struct crt_test crt_test = {
	.text = "shared file mappings are the file",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ONCE,
};
