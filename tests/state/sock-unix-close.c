// SPDX-License-Identifier: GPL-2.0-only
/* Unix sockets connected to the outside with --unix=close: closed by the other end after a restart, untouched without one. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define KINDS	3

static const int types[KINDS] = { SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM };
static const char *const names[KINDS] = { "stream", "sequenced packet", "datagram" };
static int outside[KINDS];	/* connected to a process that is not ours */
static int pair[KINDS];		/* one end of a pair of which it has the other */
static pid_t first;

static struct sockaddr_un name_of(int kind)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", crt_path(names[kind]));
	return name;
}

/* Sends back what comes, for as long as the test lives. */
static void echo(int fd)
{
	/* Datagram sockets have no end. */
	const struct timeval moment = { .tv_usec = 20000 };
	pid_t me = getppid();
	ssize_t n = 1;
	char byte;

	if (fork())
		_exit(0);
	/* Not in the group of the job, whose id is in use as long as it lives. */
	setsid();
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof(moment));
	while (!kill(me, 0) && (n == 1 || errno == EAGAIN)) {
		n = read(fd, &byte, 1);
		if (n == 1 && write(fd, &byte, 1) != 1)
			n = 0;
		if (!n)
			break;
	}
	_exit(0);
}

/* A daemon with a name; what it sends by itself comes before anything else. */
static void serve(int kind, int listener)
{
	int fd = listener;

	/* One that has sent a datagram with its address is an obstacle. */
	if (types[kind] != SOCK_DGRAM) {
		fd = accept(listener, NULL, NULL);
		if (write(fd, "h", 1) != 1)
			_exit(1);
	}
	echo(fd);
}

static void connect_outside(int kind)
{
	struct sockaddr_un name = name_of(kind), own = name;
	int listener = (int)CRT_SYS(socket(AF_UNIX, types[kind], 0));

	CRT_SYS(bind(listener, (struct sockaddr *)&name, sizeof(name)));
	if (types[kind] != SOCK_DGRAM)
		CRT_SYS(listen(listener, 1));
	if (!fork())
		serve(kind, listener);
	outside[kind] = (int)CRT_SYS(socket(AF_UNIX, types[kind], 0));
	snprintf(own.sun_path, sizeof(own.sun_path), "%s.client", crt_path(names[kind]));
	CRT_SYS(bind(outside[kind], (struct sockaddr *)&own, sizeof(own)));
	CRT_SYS(connect(outside[kind], (struct sockaddr *)&name, sizeof(name)));
	CRT_SYS(close(listener));
	CRT_SYS(wait(NULL));
}

static void pair_outside(int kind)
{
	int ends[2];

	CRT_SYS(socketpair(AF_UNIX, types[kind], 0, ends));
	if (!fork()) {
		close(ends[0]);
		echo(ends[1]);
	}
	CRT_SYS(wait(NULL));
	CRT_SYS(close(ends[1]));
	pair[kind] = ends[0];
}

static void setup(void)
{
	for (int kind = 0; kind < KINDS; kind++) {
		connect_outside(kind);
		pair_outside(kind);
	}
	first = getppid();
	crt_sleep_ms(200);
}

static bool is_answered(int fd)
{
	char byte = 0;

	return write(fd, "e", 1) == 1 && read(fd, &byte, 1) == 1 && byte == 'e';
}

static void verify_closed(int kind, int fd, const char *what)
{
	ssize_t n;
	char byte;

	errno = 0;
	n = recv(fd, &byte, 1, MSG_DONTWAIT);
	if (types[kind] == SOCK_DGRAM)
		crt_ok(n == -1 && errno == EAGAIN, "nothing more comes by %s %s (%zd, errno %d)", names[kind], what, n, errno);
	else
		crt_ok(n == 0, "%s %s is at its end (%zd, errno %d)", names[kind], what, n, errno);
	errno = 0;
	n = send(fd, "e", 1, MSG_NOSIGNAL);
	crt_ok(n == -1 && errno == (types[kind] == SOCK_DGRAM ? ECONNREFUSED : EPIPE), "... and nobody hears (%zd, errno %d)", n, errno);
}

static void verify(void)
{
	char byte;

	for (int kind = 0; kind < KINDS; kind++) {
		if (types[kind] != SOCK_DGRAM)
			crt_ok(recv(outside[kind], &byte, 1, MSG_DONTWAIT | (getppid() == first ? MSG_PEEK : 0)) == 1 && byte == 'h',
			       "what had come by %s is there", names[kind]);
		if (getppid() == first) {
			crt_ok(is_answered(pair[kind]), "%s goes on", names[kind]);
			continue;
		}
		verify_closed(kind, outside[kind], "with a name");
		verify_closed(kind, pair[kind], "of a pair");
	}
}

const struct crt_test crt_test = {
	.text = "Unix sockets connected to the outside, closed",
	.setup = setup,
	.verify = verify,
	.checkpoint_args = "--unix=close",
};
