// SPDX-License-Identifier: GPL-2.0-only
/* Pipes with both ends in the process: bytes in them, size, flags, packets. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int plain[2], packets[2], bound[2];
static int capacity;

static void setup(void)
{
	char buf[30000];

	CRT_SYS(pipe2(plain, O_NONBLOCK | O_CLOEXEC));
	capacity = (int)CRT_SYS(fcntl(plain[0], F_SETPIPE_SZ, 1 << 17));
	crt_fill(buf, sizeof(buf), 111);
	CRT_SYS(write(plain[1], buf, sizeof(buf)));
	CRT_SYS(read(plain[0], buf, 777));			/* starts within a page */
	CRT_SYS(pipe2(packets, O_DIRECT));
	CRT_SYS(write(packets[1], "one", 3));
	CRT_SYS(write(packets[1], "second", 6));
	CRT_SYS(pipe(bound));
	CRT_SYS(write(bound[1], "last words", 10));
	CRT_SYS(close(bound[1]));				/* end of file follows */
}

static void verify(void)
{
	char expected[30000], buf[30000] = "";
	int n = 0;

	CRT_SYS(ioctl(plain[0], FIONREAD, &n));
	crt_same(n, 30000 - 777, "bytes in the pipe");
	crt_same(fcntl(plain[1], F_GETPIPE_SZ), capacity, "size of the pipe");
	crt_same(fcntl(plain[0], F_GETFL), O_RDONLY | O_NONBLOCK, "flags of the reading end");
	crt_same(fcntl(plain[1], F_GETFL), O_WRONLY | O_NONBLOCK, "flags of the writing end");
	crt_same(fcntl(plain[1], F_GETFD), FD_CLOEXEC, "close-on-exec");
	crt_fill(expected, sizeof(expected), 111);
	crt_same(read(plain[0], buf, sizeof(buf)), 30000 - 777, "they can be read");
	crt_ok(!memcmp(buf, expected + 777, 30000 - 777), "and are the ones");
	errno = 0;
	crt_ok(read(plain[0], buf, 1) == -1 && errno == EAGAIN, "then it is empty");
	CRT_SYS(write(plain[1], "again", 5));
	crt_same(read(plain[0], buf, 5), 5, "and works");
	crt_same(read(packets[0], buf, 100), 3, "a packet");
	crt_same(read(packets[0], buf, 100), 6, "the next packet");
	crt_same(read(bound[0], buf, 100), 10, "the bytes in a pipe without writer");
	crt_ok(!memcmp(buf, "last words", 10), "are the ones");
	crt_same(read(bound[0], buf, 100), 0, "then comes the end of file");
}

const struct crt_test crt_test = {
	.text = "pipes and the bytes in them",
	.setup = setup,
	.verify = verify,
};
