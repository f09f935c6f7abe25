// SPDX-License-Identifier: GPL-2.0-only
/*
 * unending - a call that does not end before another process does something (for tests/hostile/unending-calls)
 *
 *	unending cancel|exit|group FILE ASKED	reads FILE, of which no page can be read for now, by io_uring, and waits until there is a file
 *			ASKED.  Then a thread waits for the end of that request: in IORING_REGISTER_SYNC_CANCEL; or in exit(2); or, of a
 *			process of its own, in exit_group(2).  Prints "begun N", of that thread or process, and "ended" when that is over, after what
 *			the call has returned.  Then it stays.
 */
#include "../state/uring.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

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

static const char *how, *path, *asked;

static void begin(void)
{
	static char page[4096];
	struct uring r;
	int fd = open(path, O_RDONLY);

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
	if (!strcmp(how, "cancel")) {
		struct io_uring_sync_cancel_reg cancel = { .addr = 1, .fd = -1, .timeout = { -1, -1 } };
		long result = syscall(SYS_io_uring_register, r.fd, IORING_REGISTER_SYNC_CANCEL, &cancel, 1);

		printf("result %s\n", result ? strerror(errno) : "0");
	}
}

static void *thread(void *unused)
{
	(void)unused;
	begin();
	syscall(SYS_exit, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t id;

	if (argc != 4)
		return 2;
	how = argv[1];
	path = argv[2];
	asked = argv[3];
	if (strcmp(how, "group")) {
		if (pthread_create(&id, NULL, thread, NULL) || pthread_join(id, NULL))
			return 1;
	} else {
		pid_t pid = fork();

		if (!pid) {
			begin();
			_exit(0);
		}
		if (waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	puts("ended");
	fflush(stdout);
	for (;;)
		pause();
}
