// SPDX-License-Identifier: GPL-2.0-only
/* Listening sockets: address, options, backlog, and they still accept. */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int v4, v6, named;
static struct sockaddr_in name4;
static struct sockaddr_in6 name6;
/* Relative: it means something in this directory alone. */
static const struct sockaddr_un relative = { .sun_family = AF_UNIX, .sun_path = "./listens" };

static int listener(int family, const void *any, socklen_t len, void *name)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;

	if (fd < 0)
		return -1;
	CRT_SYS(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	if (family == AF_INET6)
		CRT_SYS(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)));
	if (bind(fd, any, len)) {
		close(fd);
		return -1;
	}
	CRT_SYS(listen(fd, 7));
	CRT_SYS(getsockname(fd, name, &len));
	return fd;
}

static void setup(void)
{
	struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	v4 = listener(AF_INET, &any4, sizeof(any4), &name4);
	v6 = listener(AF_INET6, &any6, sizeof(any6), &name6);
	if (v4 < 0)
		crt_skip("no loopback network");
	named = (int)CRT_SYS(socket(AF_UNIX, SOCK_STREAM, 0));
	CRT_SYS(bind(named, (const void *)&relative, sizeof(relative)));
	CRT_SYS(listen(named, 3));
}

static void check(const char *what, int fd, int family, const void *name, socklen_t len)
{
	int option = 0, client;
	char now[64];
	socklen_t n = sizeof(option);

	getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &option, &n);
	crt_same(option, 1, "%s: listens", what);
	getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &option, &n);
	crt_same(option, 1, "%s: SO_REUSEADDR", what);
	n = sizeof(now);
	getsockname(fd, (struct sockaddr *)now, &n);
	crt_ok(n == len && !memcmp(now, name, n), "%s: address and port", what);
	crt_same(fcntl(fd, F_GETFL), O_RDWR | O_NONBLOCK, "%s: flags", what);
	crt_same(fcntl(fd, F_GETFD), FD_CLOEXEC, "%s: close-on-exec", what);
	client = socket(family, SOCK_STREAM, 0);
	crt_same(connect(client, name, len), 0, "%s: a client connects", what);
	poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 5000);
	close((int)CRT_SYS(accept(fd, NULL, NULL)));
	close(client);
}

static void check_relative(void)
{
	int client = socket(AF_UNIX, SOCK_STREAM, 0);

	crt_same(connect(client, (const void *)&relative, sizeof(relative)), 0,
		 "relative name: a client connects");
	poll(&(struct pollfd){ .fd = named, .events = POLLIN }, 1, 5000);
	close((int)CRT_SYS(accept(named, NULL, NULL)));
	close(client);
}

static void verify(void)
{
	check("IPv4", v4, AF_INET, &name4, sizeof(name4));
	if (v6 >= 0)
		check("IPv6", v6, AF_INET6, &name6, sizeof(name6));
	check_relative();
}

const struct crt_test crt_test = {
	.text = "listening sockets",
	.setup = setup,
	.verify = verify,
};
