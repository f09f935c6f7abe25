// SPDX-License-Identifier: GPL-2.0-only
/* TCP connections with both ends in the process: streams both ways, half closed, options, waiting to be accepted. */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define AMOUNT	(200 * 1024)

static int listener, v6listener, echo[2], full[2], half[2], gone, left, mapped[2], crossed[2], waiting[3], early[2], over[2];
static struct sockaddr_in names[2], over_name, where;
static struct sockaddr_in6 where6;
static char bytes[AMOUNT];

static int make_listener(int family, const void *any, socklen_t len, void *name)
{
	int fd = (int)CRT_SYS(socket(family, SOCK_STREAM, 0)), one = 1;

	CRT_SYS(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	CRT_SYS(bind(fd, any, len));
	CRT_SYS(listen(fd, 8));
	CRT_SYS(getsockname(fd, name, &len));
	return fd;
}

static int call(void)
{
	int fd = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));

	CRT_SYS(connect(fd, (struct sockaddr *)&where, sizeof(where)));
	return fd;
}

static void connect_pair(int pair[2])
{
	pair[0] = call();
	pair[1] = (int)CRT_SYS(accept(listener, NULL, NULL));
}

/* Options that the kernel does not take from a connected socket; with the other end it has them from the listening one. */
static void connect_with_early_options(void)
{
	int one = 1, queue = 5;

	early[0] = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(setsockopt(early[0], IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, &one, sizeof(one)));
	CRT_SYS(setsockopt(early[0], IPPROTO_TCP, TCP_FASTOPEN, &queue, sizeof(queue)));
	CRT_SYS(connect(early[0], (struct sockaddr *)&where, sizeof(where)));
	early[1] = (int)CRT_SYS(accept(listener, NULL, NULL));
}

/* As much as goes in, then the rest of what the test says is under way. */
static void put(int fd, uint64_t seed)
{
	crt_fill(bytes, sizeof(bytes), seed);
	for (size_t done = 0; done < sizeof(bytes);) {
		ssize_t n = send(fd, bytes + done, sizeof(bytes) - done, MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			crt_sleep_ms(20);
		else
			done += (size_t)CRT_SYS(n);
	}
}

/*
 * Two connections to a listener that is no more: in one the end that was accepted has the lower number, in the
 * other the end that called.
 */
static void connect_without_listener(struct sockaddr_in any)
{
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6 };
	int caller;

	v6listener = make_listener(AF_INET6, &any6, sizeof(any6), &where6);
	any.sin_port = where6.sin6_port;
	caller = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(connect(caller, (struct sockaddr *)&any, sizeof(any)));
	crossed[1] = (int)CRT_SYS(accept(v6listener, NULL, NULL));
	crossed[0] = (int)CRT_SYS(fcntl(caller, F_DUPFD, crossed[1]));
	CRT_SYS(close(caller));
	mapped[0] = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(connect(mapped[0], (struct sockaddr *)&any, sizeof(any)));
	mapped[1] = (int)CRT_SYS(accept(v6listener, NULL, NULL));
	CRT_SYS(write(mapped[0], "mapped", 6));
	CRT_SYS(write(crossed[0], "crossed", 7));
	CRT_SYS(close(v6listener));
}

static void setup(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1, idle = 77, pair[2];
	socklen_t len = sizeof(names[0]);

	listener = make_listener(AF_INET, &any, sizeof(any), &where);
	connect_pair(echo);
	CRT_SYS(setsockopt(echo[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
	CRT_SYS(setsockopt(echo[0], SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)));
	CRT_SYS(setsockopt(echo[0], IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)));
	CRT_SYS(fcntl(echo[1], F_SETFL, O_NONBLOCK));
	CRT_SYS(getsockname(echo[0], (struct sockaddr *)&names[0], &len));
	CRT_SYS(getpeername(echo[0], (struct sockaddr *)&names[1], &len));
	connect_pair(full);
	put(full[0], 31);
	put(full[1], 32);
	CRT_SYS(read(full[1], bytes, 12345));			/* within a segment */
	connect_pair(half);
	CRT_SYS(write(half[0], "last", 4));
	CRT_SYS(shutdown(half[0], SHUT_WR));
	connect_pair(pair);
	CRT_SYS(write(pair[1], "farewell", 8));
	CRT_SYS(close(pair[1]));
	gone = pair[0];

	connect_pair(pair);
	CRT_SYS(write(pair[0], "done", 4));
	CRT_SYS(close(pair[0]));
	left = pair[1];
	connect_without_listener(any);
	connect_with_early_options();
	/* Nobody's rights are needed for a port that it leaves (TIME_WAIT). */
	over[0] = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(setsockopt(over[0], SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	CRT_SYS(connect(over[0], (struct sockaddr *)&where, sizeof(where)));
	over[1] = (int)CRT_SYS(accept(listener, NULL, NULL));
	CRT_SYS(getsockname(over[0], (struct sockaddr *)&over_name, &len));
	CRT_SYS(shutdown(over[0], SHUT_WR));
	CRT_SYS(shutdown(over[1], SHUT_WR));
	for (int i = 0; i < 3; i++) {
		waiting[i] = call();
		CRT_SYS(write(waiting[i], &"012"[i], 1));
	}
	crt_sleep_ms(200);
}

static void check_stream(const char *what, int fd, uint64_t seed, size_t skip)
{
	static char now[AMOUNT];
	size_t done = 0;

	crt_fill(bytes, sizeof(bytes), seed);
	while (done < AMOUNT - skip && poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 5000) == 1) {
		ssize_t n = recv(fd, now + done, AMOUNT - done, MSG_DONTWAIT);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	crt_same((long long)done, (long long)(AMOUNT - skip), "%s: all bytes", what);
	crt_ok(!memcmp(now, bytes + skip, AMOUNT - skip), "%s: the right ones", what);
	crt_ok(recv(fd, now, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN, "%s: and no more", what);
}

static void same_read(int fd, const char *expected, const char *what)
{
	char buf[64] = "";

	poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 5000);
	crt_same(recv(fd, buf, strlen(expected), MSG_DONTWAIT), (long long)strlen(expected), "%s: length", what);
	crt_same_str(buf, expected, "%s", what);
}

static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	getsockopt(fd, level, name, &value, &len);
	return value;
}

static void verify_echo(void)
{
	struct sockaddr_in name;
	socklen_t len = sizeof(name);

	CRT_SYS(write(echo[0], "to", 2));
	same_read(echo[1], "to", "one way");
	CRT_SYS(write(echo[1], "fro", 3));
	same_read(echo[0], "fro", "and back");
	CRT_SYS(getsockname(echo[0], (struct sockaddr *)&name, &len));
	crt_ok(!memcmp(&name, &names[0], sizeof(name)), "its address and port");
	CRT_SYS(getpeername(echo[0], (struct sockaddr *)&name, &len));
	crt_ok(!memcmp(&name, &names[1], sizeof(name)), "those of the other end");
	crt_same(option(echo[0], IPPROTO_TCP, TCP_NODELAY), 1, "TCP_NODELAY");
	crt_same(option(echo[1], IPPROTO_TCP, TCP_NODELAY), 0, "not at the other end");
	crt_same(option(echo[0], SOL_SOCKET, SO_KEEPALIVE), 1, "SO_KEEPALIVE");
	crt_same(option(echo[0], IPPROTO_TCP, TCP_KEEPIDLE), 77, "TCP_KEEPIDLE");
	crt_same(option(echo[0], SOL_SOCKET, SO_REUSEADDR), 0, "no SO_REUSEADDR");
	crt_same(fcntl(echo[1], F_GETFL), O_RDWR | O_NONBLOCK, "non-blocking");
}

static void verify_ends(void)
{
	char byte;

	same_read(half[1], "last", "before shutdown()");
	crt_same(read(half[1], &byte, 1), 0, "then the end");
	crt_ok(send(half[0], "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE, "no more writing");
	CRT_SYS(write(half[1], "back", 4));
	same_read(half[0], "back", "the other direction");
	same_read(gone, "farewell", "from one who is gone");
	crt_same(read(gone, &byte, 1), 0, "then the end");
	same_read(left, "done", "from a caller who is gone");
	crt_same(read(left, &byte, 1), 0, "then the end");
	same_read(crossed[1], "crossed", "beside the other of the same port");
	CRT_SYS(write(crossed[1], "over", 4));
	same_read(crossed[0], "over", "and back");
	same_read(mapped[1], "mapped", "IPv4 at an IPv6 socket");
	CRT_SYS(write(mapped[1], "too", 3));
	same_read(mapped[0], "too", "and back");
}

static void verify_early(void)
{
	crt_same(option(early[0], IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE), 1, "TCP_FASTOPEN_NO_COOKIE of a connected socket");
	crt_same(option(early[0], IPPROTO_TCP, TCP_FASTOPEN), 5, "TCP_FASTOPEN of one");
	CRT_SYS(write(early[0], "early", 5));
	same_read(early[1], "early", "which works");
}

/* Closed on both sides. */
static void verify_over(void)
{
	struct sockaddr_in name;
	socklen_t len = sizeof(name);
	char byte;

	for (int i = 0; i < 2; i++) {
		crt_same(read(over[i], &byte, 1), 0, "the end of one that is over");
		crt_ok(send(over[i], "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE, "nothing can be sent");
		crt_ok(getpeername(over[i], (struct sockaddr *)&name, &len) == -1 && errno == ENOTCONN, "it has no peer");
	}
	len = sizeof(name);
	CRT_SYS(getsockname(over[0], (struct sockaddr *)&name, &len));
	crt_ok(!memcmp(&name, &over_name, sizeof(name)), "its address and port");
}

static void verify_waiting(void)
{
	char byte;

	for (int i = 0; i < 3; i++) {
		int fd = accept4(listener, NULL, NULL, 0);

		crt_ok(fd >= 0 && read(fd, &byte, 1) == 1 && byte == '0' + i, "connection %d is accepted, with its byte", i);
		CRT_SYS(write(fd, "a", 1));
		same_read(waiting[i], "a", "and works");
		close(fd);
	}
}

static void verify(void)
{
	verify_echo();
	check_stream("one way", full[1], 31, 12345);
	check_stream("the other way", full[0], 32, 0);
	verify_ends();
	verify_early();
	verify_over();
	verify_waiting();
	crt_leave_no_time_wait();
}

const struct crt_test crt_test = {
	.text = "TCP connections",
	.setup = setup,
	.verify = verify,
	.timeout_s = 200,
};
