// SPDX-License-Identifier: GPL-2.0-only
/*
 * What cannot be saved and is over soon, as a checkpoint finds it all the time: the kernel's answer by netlink has not
 * been read; the other end of a connection has not answered yet, or waits for the first bytes.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_t worker;
static volatile unsigned long rounds, wrong;

/* Half of the time in the middle of it. */
static void *work(void *one_round)
{
	bool (*round)(void) = one_round;

	while (!crt_go()) {
		if (round())
			rounds++;
		else
			wrong++;
		usleep(2000);
	}
	return NULL;
}

static void start_work(bool (*round)(void))
{
	if (pthread_create(&worker, NULL, work, round))
		crt_die("pthread_create");
}

static void verify_work(void)
{
	pthread_join(worker, NULL);
	crt_ok(rounds > 1, "went on");
	crt_same((long long)wrong, 0, "each time in full");
}

/* ---- what getifaddrs(3) and getaddrinfo(3) do ---- */

static bool is_last(const char *data, ssize_t n)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)data;

	for (; NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n))
		if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
			return true;
	return false;
}

static bool ask_for_devices(void)
{
	struct {
		struct nlmsghdr h;
		struct rtgenmsg what;
	} request = { .h = { .nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETLINK,
			     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };
	static char data[65536] __attribute__((aligned(NLMSG_ALIGNTO)));
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	bool good = fd >= 0 && send(fd, &request, sizeof(request), 0) == sizeof(request);
	ssize_t n = 0;

	usleep(2000);
	do {
		n = good ? recv(fd, data, sizeof(data), 0) : -1;
	} while (n > 0 && !is_last(data, n));
	close(fd);
	return n > 0;
}

/* ---- a connection to somebody who has no room for it before the first call is repeated, after a second ---- */

static int listener, caller;
static struct sockaddr_in name = { .sin_family = AF_INET };

static void listen_to(int backlog)
{
	socklen_t size = sizeof(name);
	int on = 1;

	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	CRT_SYS(bind(listener, (struct sockaddr *)&name, sizeof(name)));
	CRT_SYS(listen(listener, backlog));
	CRT_SYS(getsockname(listener, (struct sockaddr *)&name, &size));
}

static int call(const struct sockaddr_in *to, int flags)
{
	int fd = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM | flags, 0));

	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) && errno != EINPROGRESS)
		crt_die("connect: %s", strerror(errno));
	return fd;
}

/* What connect(2) has returned for may not have come to the other end yet. */
static void until_queued(unsigned int connections)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof(info);

	/* Of a listening socket, tcpi_unacked is how many wait to be accepted: tcp_get_info() of net/ipv4/tcp.c. */
	for (int i = 0; i < 1000 && info.tcpi_unacked < connections; i++) {
		usleep(1000);
		CRT_SYS(getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &size));
	}
	if (info.tcpi_unacked < connections)
		crt_die("%u connections wait, not %u", info.tcpi_unacked, connections);
}

static void setup_connection(void)
{
	int first[2];

	listen_to(1);
	for (int i = 0; i < 2; i++)
		first[i] = call(&name, 0);
	until_queued(2);
	caller = call(&name, SOCK_NONBLOCK);
	for (int i = 0; i < 2; i++) {
		close((int)CRT_SYS(accept(listener, NULL, NULL)));
		close(first[i]);
	}
	crt_sleep_ms(550);
}

static void verify_connection(void)
{
	struct pollfd ready = { .fd = caller, .events = POLLOUT };
	char text[8] = "";
	int end;

	crt_same(poll(&ready, 1, 20000), 1, "connection: is made in the end");
	end = (int)CRT_SYS(accept(listener, NULL, NULL));
	CRT_SYS(send(caller, "hello", 5, 0));
	CRT_SYS(recv(end, text, sizeof(text) - 1, 0));
	crt_same_str(text, "hello", "connection: carries bytes");
	close(end);
}

/* ---- a connection that the one who is called only has with its first bytes (TCP_DEFER_ACCEPT) ---- */

static bool call_and_speak(void)
{
	int fd = call(&name, 0), end;
	char text[8] = "";
	bool good;

	usleep(2000);
	good = send(fd, "hello", 5, 0) == 5;
	end = accept(listener, NULL, NULL);
	good = good && recv(end, text, sizeof(text) - 1, 0) == 5 && !strcmp(text, "hello");
	close(end);
	close(fd);
	return good;
}

static void setup_deferred(void)
{
	int seconds = 30;

	listen_to(4);
	CRT_SYS(setsockopt(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds)));
	start_work(call_and_speak);
}

static void setup(void)
{
	if (!crt_case)
		start_work(ask_for_devices);
	else if (!strcmp(crt_case, "deferred"))
		setup_deferred();
	else
		setup_connection();
}

static void verify(void)
{
	if (crt_case && !strcmp(crt_case, "connection"))
		verify_connection();
	else
		verify_work();
}

const struct crt_test crt_test = {
	.text = "what is busy for a moment is waited for",
	.setup = setup,
	.verify = verify,
	.cases = "connection deferred",
};
