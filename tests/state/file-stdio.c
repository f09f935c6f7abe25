// SPDX-License-Identifier: GPL-2.0-only
/* Standard input that is a pipe from elsewhere: after a restart cr_restart's takes its place. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int copy;
static pthread_t thread;
static char text[128];
static ssize_t got;
static int error;
static atomic_bool early;

static void *reader(void *arg)
{
	(void)arg;
	got = read(STDIN_FILENO, text, 11);
	error = errno;
	early = !crt_go();
	return NULL;
}

static void setup(void)
{
	copy = (int)CRT_SYS(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 50));
	CRT_SYS(-pthread_create(&thread, NULL, reader, NULL));
	crt_sleep_ms(100);
}

static void verify(void)
{
	char rest[64] = "";
	struct stat a = { 0 }, b = { 0 };

	pthread_join(thread, NULL);
	crt_same(got, 11, "read() in progress gives what comes%s%s", got < 0 ? ", not " : "",
		 got < 0 ? strerror(error) : "");
	crt_same_str(text, "first line\n", "that is what was sent");
	crt_ok(!early, "and not before it was");
	fstat(STDIN_FILENO, &a);
	fstat(copy, &b);
	crt_ok(S_ISFIFO(a.st_mode), "stdin is a pipe");
	crt_ok(a.st_ino == b.st_ino && a.st_dev == b.st_dev, "its copy is the same");
	crt_same(fcntl(copy, F_GETFD), FD_CLOEXEC, "with its own close-on-exec");
	CRT_SYS(read(copy, rest, sizeof(rest) - 1));
	crt_same_str(rest, "second line\n", "the rest comes through the copy");
	CRT_SYS(fstat(STDOUT_FILENO, &a));
	crt_ok(S_ISREG(a.st_mode), "stdout is the regular file that it was");
}

const struct crt_test crt_test = {
	.text = "cr_restart's stdio takes the place of pipes",
	.setup = setup,
	.verify = verify,
	.flags = CRT_PIPE,
};
