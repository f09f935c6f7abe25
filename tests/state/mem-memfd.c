// SPDX-License-Identifier: GPL-2.0-only
/* memfd: contents, size, seals, offset, and that descriptor and mapping are one object. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE (40UL << 12)

#define ODD	5000	/* bytes of a file whose last page is mapped and written to behind its end */

static int fd, sealed, unmapped, odd;
static unsigned char *map, *behind;
static char link_before[256];

/* @size, rounded up to whole pages */
static size_t whole_pages(size_t size)
{
	size_t page = (size_t)crt_page();

	return (size + page - 1) / page * page;
}

static void link_of(int f, char *buf, size_t size)
{
	char path[64] = "/proc/self/fd/";
	ssize_t n;

	path[strlen(path) + 1] = 0;
	path[strlen(path)] = (char)('0' + f);
	n = readlink(path, buf, size - 1);
	buf[n < 0 ? 0 : n] = 0;
}

static void setup(void)
{
	static unsigned char buf[SIZE];

	fd = (int)CRT_SYS(memfd_create("cryo test", MFD_CLOEXEC));
	CRT_SYS(ftruncate(fd, SIZE * 4));			/* three quarters are a hole */
	map = CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	crt_fill(map, SIZE, 51);
	CRT_SYS(lseek(fd, 1234, SEEK_SET));
	sealed = (int)CRT_SYS(memfd_create("sealed", MFD_ALLOW_SEALING));
	CRT_SYS(write(sealed, "contents", 8));
	CRT_SYS(fcntl(sealed, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_WRITE));
	unmapped = (int)CRT_SYS(memfd_create("unmapped", 0));
	crt_fill(buf, SIZE, 52);
	CRT_SYS(write(unmapped, buf, SIZE));
	link_of(fd, link_before, sizeof(link_before));
	odd = (int)CRT_SYS(memfd_create("odd", 0));
	CRT_SYS(ftruncate(odd, ODD));
	behind = CRT_MAP(mmap(NULL, whole_pages(ODD), PROT_READ | PROT_WRITE, MAP_SHARED, odd, 0));
	crt_fill(behind, whole_pages(ODD), 53);
}

static void verify(void)
{
	static unsigned char buf[SIZE];
	char text[256];
	struct stat st;

	crt_same(crt_bad(map, SIZE, 51), -1, "contents through the mapping");
	CRT_SYS(fstat(fd, &st));
	crt_same(st.st_size, SIZE * 4, "size, hole included");
	crt_same(lseek(fd, 0, SEEK_CUR), 1234, "offset");
	crt_same(fcntl(fd, F_GETFD), FD_CLOEXEC, "close-on-exec");
	map[4096] = 0x42;
	CRT_SYS(pread(fd, buf, 1, 4096));
	crt_same(buf[0], 0x42, "descriptor and mapping are one object");
	link_of(fd, text, sizeof(text));
	crt_same_str(text, link_before, "name");
	crt_same(fcntl(sealed, F_GET_SEALS), F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_WRITE, "seals");
	errno = 0;
	crt_ok(pwrite(sealed, "x", 1, 0) == -1 && errno == EPERM, "a sealed one cannot be written");
	CRT_SYS(pread(sealed, text, 8, 0));
	crt_ok(!memcmp(text, "contents", 8), "and keeps its contents");
	CRT_SYS(pread(unmapped, buf, SIZE, 0));
	crt_same(crt_bad(buf, SIZE, 52), -1, "contents of one that is not mapped");
	CRT_SYS(fstat(odd, &st));
	crt_same(st.st_size, ODD, "size of one that ends in a page");
	crt_same(crt_bad(behind, whole_pages(ODD), 53), -1, "its contents, and what is behind its end in that page");
}

const struct crt_test crt_test = {
	.text = "memfd objects are restored whole",
	.setup = setup,
	.verify = verify,
	.max_context_kib = 4096,
};
