// SPDX-License-Identifier: GPL-2.0-only
/* Named FIFOs: both ends here, one end elsewhere, deleted, gone since. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int reader, writer, second, both, deleted[2], lonely, packets[2];
static int capacity;

static const char *fifo(const char *name)
{
	unlink(crt_path(name));
	CRT_SYS(mkfifo(crt_path(name), 0640));
	return crt_path(name);
}

static void open_ends(const char *path, int fds[2], int flags)
{
	fds[0] = (int)CRT_SYS(open(path, O_RDONLY | O_NONBLOCK));
	fds[1] = (int)CRT_SYS(open(path, O_WRONLY | flags));
	CRT_SYS(fcntl(fds[0], F_SETFL, 0));
}

static void setup(void)
{
	char buf[30000];
	int fds[2];

	open_ends(fifo("fifo"), fds, O_CLOEXEC);
	reader = fds[0];
	writer = fds[1];
	second = (int)CRT_SYS(open(crt_path("fifo"), O_WRONLY | O_NONBLOCK));
	capacity = (int)CRT_SYS(fcntl(reader, F_SETPIPE_SZ, 1 << 17));
	crt_fill(buf, sizeof(buf), 111);
	CRT_SYS(write(writer, buf, sizeof(buf)));
	CRT_SYS(read(reader, buf, 777));
	both = (int)CRT_SYS(open(fifo("both"), O_RDWR));
	CRT_SYS(write(both, "to myself", 9));
	open_ends(fifo("deleted"), deleted, 0);
	CRT_SYS(write(deleted[1], "no name", 7));
	CRT_SYS(unlink(crt_path("deleted")));
	lonely = (int)CRT_SYS(open(fifo("lonely"), O_RDONLY | O_NONBLOCK));
	open_ends(fifo("packets"), packets, 0);
	CRT_SYS(fcntl(packets[1], F_SETFL, O_DIRECT));
	CRT_SYS(write(packets[1], "one", 3));
	CRT_SYS(write(packets[1], "second", 6));
	CRT_SYS(close(packets[1]));
	CRT_SYS(unlink(crt_path("both")));		/* has no name when it is restarted; or a new one */
	CRT_SYS(mkfifo(crt_path("both"), 0600));
}

static void verify_both_ends(void)
{
	char expected[30000], buf[30000] = "";
	struct stat a, b;
	int n = 0;

	CRT_SYS(ioctl(reader, FIONREAD, &n));
	crt_same(n, 30000 - 777, "bytes in the FIFO");
	crt_same(fcntl(writer, F_GETPIPE_SZ), capacity, "its size");
	crt_same(fcntl(reader, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDONLY, "flags of the reading end");
	crt_same(fcntl(writer, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_WRONLY, "flags of the writing end");
	crt_same(fcntl(second, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_WRONLY | O_NONBLOCK, "flags of a second one");
	crt_same(fcntl(writer, F_GETFD), FD_CLOEXEC, "close-on-exec");
	crt_fill(expected, sizeof(expected), 111);
	crt_same(read(reader, buf, sizeof(buf)), 30000 - 777, "they can be read");
	crt_ok(!memcmp(buf, expected + 777, 30000 - 777), "and are the ones");
	CRT_SYS(close(writer));
	CRT_SYS(write(second, "again", 5));
	crt_same(read(reader, buf, 5), 5, "and it works");
	CRT_SYS(fstat(reader, &a));
	CRT_SYS(stat(crt_path("fifo"), &b));
	crt_same((long long)a.st_ino, (long long)b.st_ino, "it is the one of that name");
	CRT_SYS(close(second));
	crt_same(read(reader, buf, 5), 0, "when the writers have gone, it ends");
}

static void verify(void)
{
	struct pollfd event;
	char buf[100] = "";

	verify_both_ends();
	crt_same(read(both, buf, sizeof(buf)), 9, "one that is open for both directions has its bytes");
	crt_same(read(deleted[0], buf, sizeof(buf)), 7, "so has one without a name");
	crt_ok(access(crt_path("deleted"), F_OK) != 0, "which has none now");
	event = (struct pollfd){ .fd = lonely, .events = POLLIN };
	crt_same(poll(&event, 1, 0), 0, "one without a writer yet does not tell of a hangup");
	crt_same(read(packets[0], buf, sizeof(buf)), 3, "a packet");
	crt_same(read(packets[0], buf, sizeof(buf)), 6, "the next packet");
	crt_same(read(packets[0], buf, sizeof(buf)), 0, "then comes the end of file");
}

const struct crt_test crt_test = {
	.text = "named FIFOs and the bytes in them",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ONCE,
};
