// SPDX-License-Identifier: GPL-2.0-only
/* Descriptors that are one open file share offset and flags; two open files of one path do not. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int first, copy, far, other;

static void setup(void)
{
	const char *path = crt_make_file("data", 10000, 95);

	first = (int)CRT_SYS(open(path, O_RDWR));
	other = (int)CRT_SYS(open(path, O_RDWR));
	copy = (int)CRT_SYS(dup(first));
	far = (int)CRT_SYS(fcntl(first, F_DUPFD_CLOEXEC, 200));
	CRT_SYS(lseek(first, 500, SEEK_SET));
	CRT_SYS(lseek(other, 900, SEEK_SET));
}

static void verify(void)
{
	crt_same(lseek(copy, 0, SEEK_CUR), 500, "the copy has the offset");
	crt_same(lseek(far, 0, SEEK_CUR), 500, "the far copy too");
	crt_same(lseek(other, 0, SEEK_CUR), 900, "the other open file has its own");
	CRT_SYS(lseek(far, 700, SEEK_SET));
	crt_same(lseek(first, 0, SEEK_CUR), 700, "moving one moves the others");
	crt_same(lseek(other, 0, SEEK_CUR), 900, "but not the other open file");
	CRT_SYS(fcntl(copy, F_SETFL, O_APPEND));
	crt_ok(fcntl(first, F_GETFL) & O_APPEND, "flags are shared");
	crt_ok(!(fcntl(other, F_GETFL) & O_APPEND), "but not with the other open file");
	crt_same(fcntl(far, F_GETFD), FD_CLOEXEC, "close-on-exec belongs to the descriptor");
	crt_same(fcntl(first, F_GETFD), 0, "and only to that one");
}

const struct crt_test crt_test = {
	.text = "which descriptors are one open file",
	.setup = setup,
	.verify = verify,
};
