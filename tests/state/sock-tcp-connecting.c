// SPDX-License-Identifier: GPL-2.0-only
/*
 * connect(2) that nobody has answered yet, as the queue of the listening socket is full: of a socket that is polled, and of one whose
 * process waits in the call. They are connected when there is room.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS 8
#define SYN_SENT 2			/* TCP_SYN_SENT */
#define PATIENCE_MS 60000		/* a call is repeated after 1, 3, 7, 15, 31 s */

static struct sockaddr_in place = { .sin_family = AF_INET };
static int listening, polled, fixed;
static in_port_t fixed_port;
static pid_t caller;

static int state_of(int fd)
{
	struct tcp_info info = {};
	socklen_t size = sizeof(info);

	CRT_SYS(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size));
	return info.tcpi_state;
}

static int call(int flags)
{
	int fd = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM | flags, 0));

	if (connect(fd, (struct sockaddr *)&place, sizeof(place)) && errno != EINPROGRESS)
		crt_die("connect: %s", strerror(errno));
	return fd;
}

static in_port_t own_port(int fd)
{
	struct sockaddr_in name;
	socklen_t size = sizeof(name);

	CRT_SYS(getsockname(fd, (struct sockaddr *)&name, &size));
	return name.sin_port;
}

/* From a port of the program's choice, with an option that has to be set before. */
static void call_from_own_port(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int count = 9;

	fixed = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	CRT_SYS(setsockopt(fixed, IPPROTO_TCP, TCP_SYNCNT, &count, sizeof(count)));
	CRT_SYS(bind(fixed, (struct sockaddr *)&name, sizeof(name)));
	fixed_port = own_port(fixed);
	if (connect(fixed, (struct sockaddr *)&place, sizeof(place)) && errno != EINPROGRESS)
		crt_die("connect: %s", strerror(errno));
}

static void setup(void)
{
	socklen_t size = sizeof(place);

	place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listening = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	CRT_SYS(bind(listening, (struct sockaddr *)&place, size));
	CRT_SYS(listen(listening, 0));
	CRT_SYS(getsockname(listening, (struct sockaddr *)&place, &size));
	for (int i = 0; i < CALLS && (!polled || state_of(polled) != SYN_SENT); i++)
		polled = call(SOCK_NONBLOCK);
	crt_same(state_of(polled), SYN_SENT, "nobody answers");
	call_from_own_port();
	caller = (pid_t)CRT_SYS(fork());
	if (!caller) {
		char byte = 'c';
		int fd = call(0);

		_exit(write(fd, &byte, 1) == 1 ? 0 : 1);
	}
	crt_sleep_ms(200);
	crt_same(waitpid(caller, NULL, WNOHANG), 0, "a process waits in connect()");
}

/* Makes room, until the polled socket and the child are through. */
static bool accept_all(struct pollfd *done, int *status)
{
	bool ended = false;

	for (int i = 0; i < PATIENCE_MS / 20; i++) {
		int fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK);

		ended = ended || waitpid(caller, status, WNOHANG) == caller;
		if (ended && poll(done, 1, 0) == 1)
			return true;
		if (fd < 0)
			crt_sleep_ms(20);
	}
	return false;
}

static void verify(void)
{
	struct pollfd done = { .fd = polled, .events = POLLOUT };
	int status = -1, error = -1;
	socklen_t size = sizeof(error);

	crt_same(poll(&done, 1, 0), 0, "the call has not ended");
	crt_same(own_port(fixed), fixed_port, "a port that the program has chosen");
	crt_same(state_of(fixed), SYN_SENT, "is called from");
	CRT_SYS(close(fixed));
	crt_ok(fcntl(polled, F_GETFL) & O_NONBLOCK, "the socket does not block");
	crt_ok(accept_all(&done, &status), "both calls end when there is room");
	CRT_SYS(getsockopt(polled, SOL_SOCKET, SO_ERROR, &error, &size));
	crt_same(error, 0, "well");
	crt_same(write(polled, "x", 1), 1, "it is connected");
	crt_same(status, 0, "connect() of the process that waited in it has returned 0");
	crt_leave_no_time_wait();
}

const struct crt_test crt_test = {
	.text = "connections that are being made",
	.setup = setup,
	.verify = verify,
	.timeout_s = 120,
};
