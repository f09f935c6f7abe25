// SPDX-License-Identifier: GPL-2.0-only
/* TCP connections to the outside with --tcp=close: reset after a restart, untouched without one. */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int outside;
static pid_t first;

static void setup(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(name);
	int listener = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));

	CRT_SYS(bind(listener, (struct sockaddr *)&name, len));
	CRT_SYS(listen(listener, 1));
	CRT_SYS(getsockname(listener, (struct sockaddr *)&name, &len));
	if (!fork()) {
		pid_t me = getppid();
		char byte;
		int fd;

		if (fork())
			_exit(0);
		/* Not in the group of the job, whose id is in use as long as it lives. */
		setsid();
		fd = accept(listener, NULL, NULL);
		while (!kill(me, 0) && read(fd, &byte, 1) == 1 && write(fd, &byte, 1) == 1)
			;
		_exit(0);
	}
	CRT_SYS(wait(NULL));
	outside = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(connect(outside, (struct sockaddr *)&name, len));
	CRT_SYS(close(listener));
	first = getppid();
	crt_sleep_ms(200);
}

static void verify(void)
{
	char byte = 0;

	errno = 0;
	if (getppid() == first) {
		CRT_SYS(write(outside, "e", 1));
		crt_ok(read(outside, &byte, 1) == 1 && byte == 'e', "the connection goes on");
		return;
	}
	crt_ok(read(outside, &byte, 1) == -1 && errno == ECONNRESET, "it has been reset (errno %d)", errno);
	crt_ok(send(outside, &byte, 1, MSG_NOSIGNAL) == -1 && errno == EPIPE, "and is no more (errno %d)", errno);
}

const struct crt_test crt_test = {
	.text = "TCP connections to the outside, closed",
	.setup = setup,
	.verify = verify,
	.checkpoint_args = "--tcp=close",
};
