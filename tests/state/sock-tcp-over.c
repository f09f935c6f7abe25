// SPDX-License-Identifier: GPL-2.0-only
/*
 * A TCP connection that both sides have closed, with bytes not read yet. The port of who closed first lingers (TIME_WAIT): an
 * ordinary user's restart does not wait for it, as it can do without. By IPv6 from an address other than ::1 root's has it again.
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

#ifndef FLAGS
#define FLAGS	0
#endif
#define LINGERS_S	60

static int over[2];
static struct sockaddr_in6 name6;
static int64_t closed;

static void connect_over(int family, void *any, socklen_t len)
{
	int listener = (int)CRT_SYS(socket(family, SOCK_STREAM, 0));

	CRT_SYS(bind(listener, any, len));
	CRT_SYS(listen(listener, 1));
	CRT_SYS(getsockname(listener, any, &len));
	over[0] = (int)CRT_SYS(socket(family, SOCK_STREAM, 0));
	CRT_SYS(connect(over[0], any, len));
	over[1] = (int)CRT_SYS(accept(listener, NULL, NULL));
	CRT_SYS(close(listener));
}

/* To 2001:db8::1, which is given to the loopback device, and so from it. */
static void connect_by_address(void)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_addr = { { { 0x20, 1, 0xd, 0xb8, [15] = 1 } } } };
	struct in6_ifreq address = { .ifr6_addr = any.sin6_addr, .ifr6_prefixlen = 128 };
	socklen_t len = sizeof(name6);
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	if (fd < 0)
		crt_skip("no IPv6");
	address.ifr6_ifindex = (int)if_nametoindex("lo");
	if (ioctl(fd, SIOCSIFADDR, &address) != 0 && errno != EEXIST)
		crt_die("2001:db8::1 cannot be given to lo: %s", strerror(errno));
	wait_for_address(fd, &address.ifr6_addr);
	CRT_SYS(close(fd));
	connect_over(AF_INET6, &any, sizeof(any));
	CRT_SYS(getsockname(over[0], (struct sockaddr *)&name6, &len));
}

static void setup(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	if (FLAGS & CRT_ROOT)
		connect_by_address();
	else
		connect_over(AF_INET, &any, sizeof(any));
	CRT_SYS(write(over[1], "unread", 6));
	CRT_SYS(shutdown(over[0], SHUT_WR));
	CRT_SYS(shutdown(over[1], SHUT_WR));
	crt_sleep_ms(200);
	closed = crt_now_ns();
}

static void verify_end(int fd)
{
	struct pollfd poll_end = { fd, POLLIN, 0 };
	char byte;

	CRT_SYS(poll(&poll_end, 1, 0));
	crt_ok(!(poll_end.revents & POLLERR), "no error waits at its end");
	crt_same(read(fd, &byte, 1), 0, "its end");
	crt_ok(send(fd, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE, "nothing can be sent");
}

static void verify(void)
{
	static bool read_before;
	struct sockaddr_in6 name;
	socklen_t len = sizeof(name);
	char bytes[16];
	int64_t took = (crt_now_ns() - closed) / 1000000000;

	if (!read_before)
		crt_ok(read(over[0], bytes, sizeof(bytes)) == 6 && !memcmp(bytes, "unread", 6), "what was not read");
	read_before = true;
	verify_end(over[0]);
	verify_end(over[1]);
	if (!(FLAGS & CRT_ROOT)) {
		crt_ok(took < LINGERS_S, "its port has not been waited for: %lld s", (long long)took);
		closed = crt_now_ns();
		return;
	}
	CRT_SYS(getsockname(over[0], (struct sockaddr *)&name, &len));
	crt_ok(!memcmp(&name.sin6_addr, &name6.sin6_addr, sizeof(name.sin6_addr)) && name.sin6_port == name6.sin6_port,
	       "its address and port");
}

const struct crt_test crt_test = {
	.text = "a TCP connection that both sides have closed",
	.flags = FLAGS,
	.setup = setup,
	.verify = verify,
	.timeout_s = 200,
};
