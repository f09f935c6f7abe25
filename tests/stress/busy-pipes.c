// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that closes many ends of pipes at once, all the time.  A file that has been closed is released on the way
 * back to user mode only: a thread that comes to rest before that leaves ends of pipes that nobody seems to have.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PIPES	20
#define WRITERS	100	/* their descriptors: from here on, so that one call closes them all */
#define LAST	4000	/* and looks through the table, which has room for so many, when it has closed them */

static atomic_ulong rounds, failed, open_ends;
static atomic_bool end;
static pthread_t id;

/* A reader is told that nobody can write any more. */
static bool is_at_its_end(int fd)
{
	struct pollfd event = { .fd = fd, .events = POLLIN };
	char byte;

	return poll(&event, 1, 0) == 1 && event.revents == POLLHUP && read(fd, &byte, 1) == 0;
}

static void one_round(void)
{
	int fds[PIPES][2];

	for (int i = 0; i < PIPES; i++) {
		if (pipe(fds[i]) || dup2(fds[i][1], WRITERS + i) < 0) {
			failed++;
			return;
		}
		close(fds[i][1]);
	}
	failed += close_range(WRITERS, LAST, 0) != 0;
	for (int i = 0; i < PIPES; i++) {
		open_ends += !is_at_its_end(fds[i][0]);
		close(fds[i][0]);
	}
	rounds++;
}

static void *work(void *arg)
{
	(void)arg;
	while (!atomic_load(&end))
		one_round();
	return NULL;
}

static void setup(void)
{
	struct rlimit limit;

	CRT_SYS(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
	CRT_SYS(setrlimit(RLIMIT_NOFILE, &limit));
	dup2(STDOUT_FILENO, (int)limit.rlim_cur - 1 < LAST ? (int)limit.rlim_cur - 1 : LAST);
	CRT_SYS(-pthread_create(&id, NULL, work, NULL));
}

static void verify(void)
{
	atomic_store(&end, true);
	pthread_join(id, NULL);
	crt_ok(rounds > 0, "was busy (%lu rounds)", (unsigned long)rounds);
	crt_same((long long)failed, 0, "no call failed");
	crt_same((long long)open_ends, 0, "no pipe was open that had been closed");
}

const struct crt_test crt_test = {
	.text = "a program that closes many ends of pipes at once never notices",
	.setup = setup,
	.verify = verify,
	.timeout_s = 600,
};
