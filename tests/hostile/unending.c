// SPDX-License-Identifier: GPL-2.0-only
/*
 * unending - a call that does not end before another process does something (for tests/hostile/unending-calls)
 *
 *	unending FILE HOLD	reads FILE, of which no page can be read while there is a file HOLD, by io_uring, and waits until there is a file
 *			HOLD.asked.  Then a thread waits for the end of that request, in IORING_REGISTER_SYNC_CANCEL.  Prints "begun N", of
 *			that thread, the "result" of the call, and "ended" when that is over.  Then it stays.
 */
#define _GNU_SOURCE
#include "../state/uring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* What uring.h wants of the tests' library. */
long long crt_check(long long result, const char *what)
{
	if (result >= 0)
		return result;
	perror(what);
	_exit(1);
}

void *crt_check_map(void *result, const char *what)
{
	crt_check(result == MAP_FAILED ? -1 : 0, what);
	return result;
}

static const char *path, *hold;
static struct uring r;

static void *wait_for_end(void *unused)
{
	struct io_uring_sync_cancel_reg cancel = { .addr = 1, .fd = -1, .timeout = { -1, -1 } };
	static char page[4096];
	char asked[4096];
	long result;
	int fd = open(path, O_RDONLY);

	(void)unused;
	if (fd < 0 || !uring_make(&r, 4, 0)) {
		perror(path);
		_exit(1);
	}
	uring_add(&r, IORING_OP_READ, fd, page, sizeof(page), 1)->flags = IOSQE_ASYNC;
	CRT_SYS(uring_enter(&r, 1, 0));
	snprintf(asked, sizeof(asked), "%s.asked", hold);
	while (access(asked, F_OK))
		usleep(10000);
	printf("begun %ld\n", syscall(SYS_gettid));
	fflush(stdout);
	result = syscall(SYS_io_uring_register, r.fd, IORING_REGISTER_SYNC_CANCEL, &cancel, 1);
	printf("result %s\n", result ? strerror(errno) : "0");
	return NULL;
}

/*
 * A worker of io_uring wakes who waits for a request before it forgets that: who looks in between sleeps on, and nobody wakes him again.
 * So others of the ring's requests end, too, once nothing holds the first.
 */
static void join(pthread_t id)
{
	struct timespec until;

	do {
		if (access(hold, F_OK)) {
			uring_add(&r, IORING_OP_NOP, -1, NULL, 0, 2);
			CRT_SYS(uring_enter(&r, 1, 0));
		}
		CRT_SYS(clock_gettime(CLOCK_REALTIME, &until));
		until.tv_sec++;
	} while (pthread_timedjoin_np(id, NULL, &until) == ETIMEDOUT);
}

int main(int argc, char **argv)
{
	pthread_t id;

	if (argc != 3)
		return 2;
	path = argv[1];
	hold = argv[2];
	if (pthread_create(&id, NULL, wait_for_end, NULL))
		return 1;
	join(id);
	puts("ended");
	fflush(stdout);
	for (;;)
		pause();
}
