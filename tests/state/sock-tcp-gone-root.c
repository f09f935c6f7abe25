// SPDX-License-Identifier: GPL-2.0-only
/*
 * A TCP connection by IPv6 whose other end is gone, with bytes not read yet. The listener had no address of its own: a call that is
 * bound to the port alone would come from another one, that which it calls, and is not to be taken for the connection.
 */
#define _GNU_SOURCE
#include "new-address.h"
#include <errno.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int end;
static struct sockaddr_in6 name, peer;

/* 2001:db8::@last, of the loopback device. */
static struct in6_addr address(unsigned char last)
{
	struct in6_ifreq request = { .ifr6_addr = { { { 0x20, 1, 0xd, 0xb8, [15] = last } } }, .ifr6_prefixlen = 128 };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	if (fd < 0)
		crt_skip("no IPv6");
	request.ifr6_ifindex = (int)if_nametoindex("lo");
	if (ioctl(fd, SIOCSIFADDR, &request) != 0 && errno != EEXIST)
		crt_die("2001:db8::%u cannot be given to lo: %s", last, strerror(errno));
	wait_for_address(fd, &request.ifr6_addr);
	CRT_SYS(close(fd));
	return request.ifr6_addr;
}

static void setup(void)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6 }, from = { .sin6_family = AF_INET6, .sin6_addr = address(2) };
	socklen_t len = sizeof(to);
	int listener = (int)CRT_SYS(socket(AF_INET6, SOCK_STREAM, 0)), caller;

	CRT_SYS(bind(listener, (struct sockaddr *)&to, len));
	CRT_SYS(listen(listener, 1));
	CRT_SYS(getsockname(listener, (struct sockaddr *)&to, &len));
	to.sin6_addr = address(1);
	caller = (int)CRT_SYS(socket(AF_INET6, SOCK_STREAM, 0));
	CRT_SYS(bind(caller, (struct sockaddr *)&from, len));
	CRT_SYS(connect(caller, (struct sockaddr *)&to, len));
	end = (int)CRT_SYS(accept(listener, NULL, NULL));
	CRT_SYS(write(caller, "unread", 6));
	CRT_SYS(close(caller));
	CRT_SYS(close(listener));
	CRT_SYS(getsockname(end, (struct sockaddr *)&name, &len));
	CRT_SYS(getpeername(end, (struct sockaddr *)&peer, &len));
	crt_sleep_ms(100);
}

static bool is_same(const struct sockaddr_in6 *a, const struct sockaddr_in6 *b)
{
	return a->sin6_port == b->sin6_port && !memcmp(&a->sin6_addr, &b->sin6_addr, sizeof(a->sin6_addr));
}

static void verify(void)
{
	static bool read_before;
	struct sockaddr_in6 now, there;
	socklen_t len = sizeof(now);
	struct pollfd poll_end = { end, POLLIN, 0 };
	char bytes[16];

	CRT_SYS(poll(&poll_end, 1, 0));
	crt_ok(!(poll_end.revents & POLLERR), "no error waits");
	if (!read_before)
		crt_ok(read(end, bytes, sizeof(bytes)) == 6 && !memcmp(bytes, "unread", 6), "what was not read");
	read_before = true;
	crt_same(read(end, bytes, 1), 0, "its end");
	CRT_SYS(getsockname(end, (struct sockaddr *)&now, &len));
	CRT_SYS(getpeername(end, (struct sockaddr *)&there, &len));
	crt_ok(is_same(&now, &name) && is_same(&there, &peer), "addresses and ports of both ends");
}

const struct crt_test crt_test = {
	.text = "a TCP connection from one address of the machine to another, whose other end is gone",
	.flags = CRT_ROOT,
	.setup = setup,
	.verify = verify,
	.timeout_s = 200,
};
