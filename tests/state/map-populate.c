// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that comes from the context in the background (cr_restart --map): in the end it is ordinary memory, and the
 * context everybody's again.  A checkpoint meanwhile has all of it.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE (24UL << 20)

static unsigned char *area, *only_read;

static void setup(void)
{
	area = CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	only_read = CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	crt_fill(area, SIZE / 2, 1);
	area[SIZE - 1] = 0x5a;
	crt_fill(only_read, SIZE, 2);
	CRT_SYS(mprotect(only_read, SIZE, PROT_READ));
}

/* Can the context be written to, which the kernel forbids until the last page has come? */
static bool is_free(void)
{
	int fd = open(crt_path("ctx"), O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno != ETXTBSY;
}

static void verify(void)
{
	void *fault;

	while (!is_free())
		crt_sleep_ms(20);
	crt_same(crt_bad(area, SIZE / 2, 1), -1, "no byte is wrong");
	crt_same(area[SIZE - 1], 0x5a, "the last byte");
	crt_same(area[SIZE * 3 / 4], 0, "untouched is zero");
	crt_same(crt_bad(only_read, SIZE, 2), -1, "memory that can only be read");
	crt_ok(crt_try_write(only_read, &fault), "cannot be written");
	crt_same(madvise(area, SIZE, MADV_FREE), 0, "it is ordinary memory: MADV_FREE");
}

const struct crt_test crt_test = {
	.text = "memory that has come in the background is ordinary memory",
	.setup = setup,
	.verify = verify,
	.restart_args = "--map",
};
