// SPDX-License-Identifier: GPL-2.0-only
/*
 * unending - a call that does not end before another process does something (for tests/hostile/unending-calls)
 *
 *	unending FILE ASKED	reads FILE, of which no page can be read for now, by io_uring, and waits until there is a file ASKED.  Then a thread
 *			waits for the end of that request, in IORING_REGISTER_SYNC_CANCEL.  Prints "begun N", of that thread, the "result" of
 *			the call, and "ended" when that is over.  Then it stays.
 */
#include "../state/uring.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

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

static const char *path, *asked;

static void *wait_for_end(void *unused)
{
	struct io_uring_sync_cancel_reg cancel = { .addr = 1, .fd = -1, .timeout = { -1, -1 } };
	static char page[4096];
	struct uring r;
	long result;
	int fd = open(path, O_RDONLY);

	(void)unused;
	if (fd < 0 || !uring_make(&r, 4, 0)) {
		perror(path);
		_exit(1);
	}
	uring_add(&r, IORING_OP_READ, fd, page, sizeof(page), 1)->flags = IOSQE_ASYNC;
	CRT_SYS(uring_enter(&r, 1, 0));
	while (access(asked, F_OK))
		usleep(10000);
	printf("begun %ld\n", syscall(SYS_gettid));
	fflush(stdout);
	result = syscall(SYS_io_uring_register, r.fd, IORING_REGISTER_SYNC_CANCEL, &cancel, 1);
	printf("result %s\n", result ? strerror(errno) : "0");
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t id;

	if (argc != 3)
		return 2;
	path = argv[1];
	asked = argv[2];
	if (pthread_create(&id, NULL, wait_for_end, NULL) || pthread_join(id, NULL))
		return 1;
	puts("ended");
	fflush(stdout);
	for (;;)
		pause();
}
