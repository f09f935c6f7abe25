// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sockets whose address took an option that has been cleared since they were bound: IP_FREEBIND, SO_REUSEPORT and
 * SO_REUSEADDR; and one that still has it.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct kind {
	const char *text;
	int family, type;
	int level, option;
	bool twice;		/* a second one has the same port */
	bool keep[2];		/* does not clear it */
	bool listens;
};

#define FREEBIND_OF_IPV6	78	/* not in the C library's header */

#define FOREIGN(name, f, t, ...) \
	{ .text = name, .family = f, .type = t, .level = (f) == AF_INET ? IPPROTO_IP : IPPROTO_IPV6, \
	  .option = (f) == AF_INET ? IP_FREEBIND : FREEBIND_OF_IPV6, __VA_ARGS__ }
#define SHARED(name, f, t, o, first, second) \
	{ .text = name, .family = f, .type = t, .level = SOL_SOCKET, .option = o, .twice = true, .keep = { first, second }, \
	  .listens = (t) == SOCK_STREAM }

static const struct kind kinds[] = {
	FOREIGN("UDP, a foreign address", AF_INET, SOCK_DGRAM, .listens = false),
	FOREIGN("UDP, a foreign IPv6 address", AF_INET6, SOCK_DGRAM, .listens = false),
	FOREIGN("TCP, listening at a foreign address", AF_INET, SOCK_STREAM, .listens = true),
	FOREIGN("TCP, listening at a foreign address, with the option", AF_INET, SOCK_STREAM, .listens = true, .keep = { true }),
	FOREIGN("TCP, listening at a foreign IPv6 address", AF_INET6, SOCK_STREAM, .listens = true),
	FOREIGN("TCP, bound to a foreign address", AF_INET, SOCK_STREAM, .listens = false),
	SHARED("TCP, SO_REUSEPORT of the first cleared", AF_INET, SOCK_STREAM, SO_REUSEPORT, false, true),
	SHARED("TCP, SO_REUSEPORT of the second cleared", AF_INET, SOCK_STREAM, SO_REUSEPORT, true, false),
	SHARED("TCP, SO_REUSEPORT of both cleared", AF_INET6, SOCK_STREAM, SO_REUSEPORT, false, false),
	SHARED("UDP, SO_REUSEPORT of the first cleared", AF_INET, SOCK_DGRAM, SO_REUSEPORT, false, true),
	SHARED("UDP, SO_REUSEPORT of both cleared", AF_INET6, SOCK_DGRAM, SO_REUSEPORT, false, false),
	SHARED("UDP, SO_REUSEADDR of the second cleared", AF_INET, SOCK_DGRAM, SO_REUSEADDR, true, false),
	SHARED("UDP, SO_REUSEADDR of both cleared", AF_INET, SOCK_DGRAM, SO_REUSEADDR, false, false),
};

#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

static int fds[sizeof(kinds) / sizeof(kinds[0])][2];
static struct sockaddr_in6 names[sizeof(kinds) / sizeof(kinds[0])];

/* Of documentation: no machine has it. Or the loopback's. */
static socklen_t address(const struct kind *k, struct sockaddr_in6 *to)
{
	struct sockaddr_in *four = (struct sockaddr_in *)to;
	bool foreign = k->level != SOL_SOCKET;

	memset(to, 0, sizeof(*to));
	to->sin6_family = (sa_family_t)k->family;
	if (k->family == AF_INET) {
		inet_pton(AF_INET, foreign ? "192.0.2.1" : "127.0.0.1", &four->sin_addr);
		return sizeof(*four);
	}
	inet_pton(AF_INET6, foreign ? "2001:db8::1" : "::1", &to->sin6_addr);
	return sizeof(*to);
}

static void set(int fd, const struct kind *k, int value)
{
	CRT_SYS(setsockopt(fd, k->level, k->option, &value, sizeof(value)));
}

static void make(int i)
{
	const struct kind *k = &kinds[i];
	socklen_t len = address(k, &names[i]);

	for (int n = 0; n <= k->twice; n++) {
		fds[i][n] = (int)CRT_SYS(socket(k->family, k->type, 0));
		set(fds[i][n], k, 1);
		if (bind(fds[i][n], (struct sockaddr *)&names[i], len) && k->family == AF_INET6 && errno == EADDRNOTAVAIL)
			crt_skip("there is no IPv6 here");
		CRT_SYS(getsockname(fds[i][n], (struct sockaddr *)&names[i], &len));
		if (k->listens)
			CRT_SYS(listen(fds[i][n], 5));
	}
	for (int n = 0; n <= k->twice; n++)
		if (!k->keep[n])
			set(fds[i][n], k, 0);
}

/* With the option: who has it may only share a port with those that have it. */
static int stranger(int i)
{
	const struct kind *k = &kinds[i];
	int fd = (int)CRT_SYS(socket(k->family, k->type, 0)), result;

	set(fd, k, 1);
	result = bind(fd, (struct sockaddr *)&names[i], k->family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(names[i]));
	result = result ? errno : 0;
	close(fd);
	return result;
}

static int before[sizeof(kinds) / sizeof(kinds[0])];

static void setup(void)
{
	for (int i = 0; i < KINDS; i++) {
		make(i);
		before[i] = stranger(i);
	}
}

static void verify(void)
{
	for (int i = 0; i < KINDS; i++) {
		const struct kind *k = &kinds[i];
		struct sockaddr_in6 now;
		int value = 0;

		for (int n = 0; n <= k->twice; n++) {
			socklen_t len = sizeof(now), size = sizeof(value);

			memset(&now, 0, sizeof(now));
			CRT_SYS(getsockname(fds[i][n], (struct sockaddr *)&now, &len));
			crt_ok(!memcmp(&now, &names[i], len), "%s: its address", k->text);
			CRT_SYS(getsockopt(fds[i][n], k->level, k->option, &value, &size));
			crt_same(value, k->keep[n], "its option");
			CRT_SYS(getsockopt(fds[i][n], SOL_SOCKET, SO_ACCEPTCONN, &value, &size));
			crt_same(value, k->listens, "whether it listens");
		}
		crt_same(stranger(i), before[i], "whether another one can have the address");
	}
}

const struct crt_test crt_test = {
	.text = "sockets with addresses that took an option",
	.setup = setup,
	.verify = verify,
};
