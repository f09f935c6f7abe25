// SPDX-License-Identifier: GPL-2.0-only
/* A file mapped privately: some pages changed, the others the file's. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE crt_page()
#define MAX_PAGE 65536
#define FILE_SIZE (64 * PAGE + 100)	/* the last page is partial */
#define OFFSET (8 * PAGE)
#define SIZE (57 * PAGE)

static unsigned char *map, *readonly, expected[57 * MAX_PAGE];

static void setup(void)
{
	const char *path = crt_make_file("data", FILE_SIZE, 3);
	int fd = (int)CRT_SYS(open(path, O_RDONLY));

	map = CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, OFFSET));
	readonly = CRT_MAP(mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, OFFSET));
	CRT_SYS(pread(fd, expected, SIZE, OFFSET));
	CRT_SYS(close(fd));
	for (unsigned long page = 0; page < 57; page += 3) {
		memset(map + page * PAGE + 10, (int)page, 50);
		memset(expected + page * PAGE + 10, (int)page, 50);
	}
}

static void verify(void)
{
	static unsigned char file[64 * MAX_PAGE + 100];
	int fd = (int)CRT_SYS(open(crt_path("data"), O_RDONLY));

	crt_ok(!memcmp(map, expected, SIZE), "changed and unchanged pages are as they were");
	CRT_SYS(read(fd, file, FILE_SIZE));
	crt_ok(!memcmp(readonly, file + OFFSET, FILE_SIZE - OFFSET), "read-only mapping shows the file");
	crt_same(crt_bad(file, FILE_SIZE, 3), -1, "the file itself is not changed");
	map[5 * PAGE] ^= 0xff;
	CRT_SYS(pread(fd, file, FILE_SIZE, 0));
	crt_same(crt_bad(file, FILE_SIZE, 3), -1, "writing into the mapping does not reach the file");
	crt_ok(crt_try_write(readonly, NULL), "the read-only mapping cannot be written");
}

const struct crt_test crt_test = {
	.text = "private file mappings keep changed pages, and take the others from the file",
	.setup = setup,
	.verify = verify,
};
