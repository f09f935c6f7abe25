// SPDX-License-Identifier: GPL-2.0-only
/*
 * IPv6 TCP connections with both ends in the process: by a listener at any address and at ::1, by one that is no more, with an
 * end that is bound to its address, half closed, waiting to be accepted. The kernel sets IPV6_V6ONLY with each bind(2) to an
 * address, so that it tells how an end came by its own.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAIRS 4

static struct pair {
	const char *what;
	int ends[2];
	int only[2];
	struct sockaddr_in6 names[2];
} pairs[PAIRS] = {
	{ .what = "any address" },
	{ .what = "::1" },
	{ .what = "no listener any more" },
	{ .what = "a bound caller" },
};

static int listeners[2], waiting, half[2];

static struct sockaddr_in6 loopback(uint16_t port)
{
	return (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT, .sin6_port = port };
}

static struct sockaddr_in6 name_of(int fd)
{
	struct sockaddr_in6 name = { 0 };
	socklen_t len = sizeof(name);

	CRT_SYS(getsockname(fd, (struct sockaddr *)&name, &len));
	return name;
}

static int v6only(int fd)
{
	int value = -1;
	socklen_t len = sizeof(value);

	CRT_SYS(getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &value, &len));
	return value;
}

static int listen_at(struct sockaddr_in6 name)
{
	int fd = (int)CRT_SYS(socket(AF_INET6, SOCK_STREAM, 0)), one = 1;

	CRT_SYS(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	CRT_SYS(bind(fd, (struct sockaddr *)&name, sizeof(name)));
	CRT_SYS(listen(fd, 8));
	return fd;
}

static int call(int listener, bool bound)
{
	struct sockaddr_in6 to = loopback(name_of(listener).sin6_port), from = loopback(0);
	int fd = (int)CRT_SYS(socket(AF_INET6, SOCK_STREAM, 0));

	if (bound)
		CRT_SYS(bind(fd, (struct sockaddr *)&from, sizeof(from)));
	CRT_SYS(connect(fd, (struct sockaddr *)&to, sizeof(to)));
	return fd;
}

static void connect_ends(int ends[2], int listener, bool bound)
{
	ends[0] = call(listener, bound);
	ends[1] = (int)CRT_SYS(accept(listener, NULL, NULL));
}

static void setup(void)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
	int gone;

	if (access("/proc/net/if_inet6", F_OK))
		crt_skip("no IPv6");
	listeners[0] = listen_at(any);
	listeners[1] = listen_at(loopback(0));
	gone = listen_at(any);
	connect_ends(pairs[0].ends, listeners[0], false);
	connect_ends(pairs[1].ends, listeners[1], false);
	connect_ends(pairs[2].ends, gone, false);
	connect_ends(pairs[3].ends, listeners[0], true);
	CRT_SYS(close(gone));
	connect_ends(half, listeners[1], false);
	CRT_SYS(shutdown(half[1], SHUT_WR));
	waiting = call(listeners[0], false);
	for (int i = 0; i < PAIRS; i++)
		for (int k = 0; k < 2; k++) {
			pairs[i].only[k] = v6only(pairs[i].ends[k]);
			pairs[i].names[k] = name_of(pairs[i].ends[k]);
		}
}

static void check_way(int from, int to, const char *what)
{
	char byte = 0;

	CRT_SYS(write(from, "x", 1));
	crt_ok(read(to, &byte, 1) == 1 && byte == 'x', "%s: a byte comes", what);
}

static void verify(void)
{
	char byte;
	int last;

	for (int i = 0; i < PAIRS; i++) {
		struct pair *p = &pairs[i];

		for (int k = 0; k < 2; k++) {
			struct sockaddr_in6 name = name_of(p->ends[k]);

			crt_ok(!memcmp(&name.sin6_addr, &p->names[k].sin6_addr, sizeof(name.sin6_addr)) &&
			       name.sin6_port == p->names[k].sin6_port, "%s: address and port", p->what);
			crt_same(v6only(p->ends[k]), p->only[k], "%s: IPV6_V6ONLY", p->what);
			check_way(p->ends[k], p->ends[!k], p->what);
		}
	}
	crt_same(read(half[0], &byte, 1), 0, "half closed: the end");
	check_way(half[0], half[1], "half closed, the other way");
	last = (int)CRT_SYS(accept(listeners[0], NULL, NULL));
	check_way(waiting, last, "that waited to be accepted");
	CRT_SYS(close(last));
}

const struct crt_test crt_test = {
	.text = "IPv6 TCP connections",
	.setup = setup,
	.verify = verify,
	.timeout_s = 200,
};
