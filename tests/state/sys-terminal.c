// SPDX-License-Identifier: GPL-2.0-only
/* A process on a terminal: blocked reading it; after the restart it is on cr_restart's terminal. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

static int tty, again;
static pthread_t thread;
static char line[128];
static ssize_t got;
static int error;
static atomic_bool early;

static void *reader(void *arg)
{
	(void)arg;
	got = read(STDIN_FILENO, line, sizeof(line) - 1);
	error = errno;
	early = !crt_go();
	return NULL;
}

static void setup(void)
{
	if (!isatty(STDIN_FILENO))
		crt_die("stdin is no terminal");
	tty = (int)CRT_SYS(open("/dev/tty", O_RDWR));
	again = (int)CRT_SYS(dup(STDIN_FILENO));
	CRT_SYS(-pthread_create(&thread, NULL, reader, NULL));
	crt_sleep_ms(100);
}

static void verify(void)
{
	struct stat a, b;
	char second[64] = "";

	pthread_join(thread, NULL);
	crt_same(got, 11, "read() of the terminal gives a line");
	if (got < 0)
		crt_diag("%s", strerror(error));
	crt_same_str(line, "first line\n", "the one that was typed");
	crt_ok(!early, "and not before it was");
	crt_ok(isatty(STDIN_FILENO), "stdin is a terminal");
	crt_same(tcgetsid(STDIN_FILENO), getsid(0), "it is the controlling one");
	CRT_SYS(fstat(STDIN_FILENO, &a));
	CRT_SYS(fstat(again, &b));
	crt_same((long long)b.st_rdev, (long long)a.st_rdev, "a duplicate of it is the same terminal");
	crt_ok(isatty(tty), "/dev/tty is a terminal");
	CRT_SYS(read(again, second, sizeof(second) - 1));
	crt_same_str(second, "second line\n", "the next line comes through the duplicate");
	crt_ok(write(tty, "hello\n", 6) == 6, "/dev/tty can be written");
}

const struct crt_test crt_test = {
	.text = "the terminal of cr_restart takes the place of the old one",
	.setup = setup,
	.verify = verify,
	.flags = CRT_PTY,
};
