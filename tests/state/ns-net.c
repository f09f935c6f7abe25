// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sockets in a network namespace of its own, with loopback: TCP and UDP at ports that are in use outside, too, an
 * abstract Unix name that is, netlink; a child that is at the other ends, and one socket of the namespace outside.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef FLAGS
#define FLAGS 0
#endif

enum { TCP, WAITING, UDP, UNIX, NAMED, PAIR, SOCKETS };

static int outside[2], ours[SOCKETS], theirs[SOCKETS], listener, unix_listener, low, route, ask[2], told[2];
static struct sockaddr_in port = { .sin_family = AF_INET };
static struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0cryo-ns-net" };
static const socklen_t name_len = offsetof(struct sockaddr_un, sun_path) + 12;
static pid_t child;

static void enter(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd;

	if (!(FLAGS & CRT_ROOT))
		crt_unshare_users(0);
	CRT_SYS(unshare(CLONE_NEWNET));
	fd = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	CRT_SYS(ioctl(fd, SIOCGIFFLAGS, &request));
	request.ifr_flags |= IFF_UP;
	CRT_SYS(ioctl(fd, SIOCSIFFLAGS, &request));
	close(fd);
}

static int made(int family, int type, const void *address, socklen_t len)
{
	int fd = (int)CRT_SYS(socket(family, type | SOCK_CLOEXEC, 0));

	if (len)
		CRT_SYS(bind(fd, address, len));
	return fd;
}

static int called(int family, const void *address, socklen_t len)
{
	int fd = made(family, SOCK_STREAM, NULL, 0);

	CRT_SYS(connect(fd, address, len));
	return fd;
}

/* What is outside has the same addresses, and stays. */
static void take_addresses(void)
{
	socklen_t len = sizeof(port);

	port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	outside[0] = made(AF_INET, SOCK_STREAM, &port, sizeof(port));
	CRT_SYS(getsockname(outside[0], (struct sockaddr *)&port, &len));
	CRT_SYS(listen(outside[0], 1));
	outside[1] = made(AF_UNIX, SOCK_STREAM, &name, name_len);
	CRT_SYS(listen(outside[1], 1));
}

/* Says what it gets, for each question. */
static void live(void)
{
	char text[64];
	int which;

	close(ask[1]);
	while (read(ask[0], &which, sizeof(which)) == sizeof(which)) {
		memset(text, 0, sizeof(text));
		if (recv(theirs[which], text, sizeof(text) - 1, 0) < 0)
			snprintf(text, sizeof(text), "%s", strerror(errno));
		CRT_SYS(write(told[1], text, sizeof(text)));
	}
	_exit(0);
}

static void setup(void)
{
	struct sockaddr_nl groups = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
	struct sockaddr_in privileged = { .sin_family = AF_INET, .sin_port = htons(80) };
	int pair[2];

	take_addresses();
	enter();
	listener = made(AF_INET, SOCK_STREAM, &port, sizeof(port));
	CRT_SYS(listen(listener, 5));
	ours[TCP] = called(AF_INET, &port, sizeof(port));
	theirs[TCP] = (int)CRT_SYS(accept(listener, NULL, NULL));
	ours[WAITING] = called(AF_INET, &port, sizeof(port));
	theirs[UDP] = made(AF_INET, SOCK_DGRAM, &port, sizeof(port));
	ours[UDP] = made(AF_INET, SOCK_DGRAM, NULL, 0);
	CRT_SYS(connect(ours[UDP], (struct sockaddr *)&port, sizeof(port)));
	unix_listener = made(AF_UNIX, SOCK_STREAM, &name, name_len);
	CRT_SYS(listen(unix_listener, 5));
	ours[UNIX] = called(AF_UNIX, &name, name_len);
	theirs[UNIX] = (int)CRT_SYS(accept(unix_listener, NULL, NULL));
	theirs[NAMED] = made(AF_UNIX, SOCK_DGRAM, NULL, 0);
	CRT_SYS(bind(theirs[NAMED], (struct sockaddr *)&name, sizeof(sa_family_t)));
	ours[NAMED] = made(AF_UNIX, SOCK_DGRAM, NULL, 0);
	CRT_SYS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	ours[PAIR] = pair[0];
	theirs[PAIR] = pair[1];
	low = made(AF_INET, SOCK_STREAM, &privileged, sizeof(privileged));
	CRT_SYS(listen(low, 1));
	route = (int)CRT_SYS(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
	CRT_SYS(bind(route, (struct sockaddr *)&groups, sizeof(groups)));
	CRT_SYS(pipe(ask));
	CRT_SYS(pipe(told));
	child = (pid_t)CRT_SYS(fork());
	if (!child)
		live();
	CRT_SYS(send(ours[TCP], "tcp", 3, 0));
	CRT_SYS(send(ours[UDP], "udp", 3, 0));
	CRT_SYS(send(ours[UNIX], "unix", 4, 0));
	CRT_SYS(send(ours[PAIR], "pair", 4, 0));
}

static void expect(int which, const char *wanted)
{
	char text[64] = "";

	CRT_SYS(write(ask[1], &which, sizeof(which)));
	CRT_SYS(read(told[0], text, sizeof(text)));
	crt_same_str(text, wanted, "what waited at socket %d", which);
}

/* A call to each address arrives inside, and only there. */
static void verify_calls(void)
{
	int call = called(AF_INET, &port, sizeof(port)), accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

	crt_ok(accepted >= 0, "the connection that waited is accepted");
	close(accepted);
	accepted = accept(listener, NULL, NULL);
	crt_ok(accepted >= 0, "a new one, too");
	close(accepted);
	close(call);
	call = called(AF_UNIX, &name, name_len);
	accepted = accept(unix_listener, NULL, NULL);
	crt_ok(accepted >= 0, "an abstract name is its own");
	close(accepted);
	close(call);
	fcntl(outside[0], F_SETFL, O_NONBLOCK);
	crt_ok(accept(outside[0], NULL, NULL) < 0 && errno == EAGAIN, "nothing has called the port outside");
	fcntl(outside[1], F_SETFL, O_NONBLOCK);
	crt_ok(accept(outside[1], NULL, NULL) < 0 && errno == EAGAIN, "nor the name outside");
}

static unsigned int devices_here(void)
{
	struct if_nameindex *all = if_nameindex();
	unsigned int n = 0;

	while (all && all[n].if_index)
		n++;
	if_freenameindex(all);
	return n;
}

static void verify_netlink(void)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
	} request = { .head = { .nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETLINK,
				.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP, .nlmsg_seq = 7 } };
	char answer[8192];
	struct nlmsghdr *head;
	ssize_t left;
	unsigned int devices = 0;
	bool more = true;

	CRT_SYS(send(route, &request, sizeof(request), 0));
	while (more) {
		left = CRT_SYS(recv(route, answer, sizeof(answer), 0));
		for (head = (struct nlmsghdr *)answer; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
			devices += head->nlmsg_type == RTM_NEWLINK;
			more &= head->nlmsg_type != NLMSG_DONE && head->nlmsg_type != NLMSG_ERROR;
		}
	}
	/* Drivers of tunnels make some in each. */
	crt_same(devices, devices_here(), "netlink knows the devices of the namespace");
}

static void verify(void)
{
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);
	int status = 0;

	expect(TCP, "tcp");
	expect(UDP, "udp");
	expect(UNIX, "unix");
	expect(PAIR, "pair");
	CRT_SYS(send(ours[TCP], "more", 4, 0));
	expect(TCP, "more");
	CRT_SYS(send(ours[UDP], "again", 5, 0));
	expect(UDP, "again");
	CRT_SYS(getpeername(ours[TCP], (struct sockaddr *)&peer, &len));
	crt_same(peer.sin_port, port.sin_port, "port of the other end");
	len = sizeof(peer);
	CRT_SYS(getsockname(low, (struct sockaddr *)&peer, &len));
	crt_same(ntohs(peer.sin_port), 80, "a port for which that took a right");
	verify_calls();
	verify_netlink();
	close(ask[1]);
	crt_same(waitpid(child, &status, 0), child, "the child ends");
	crt_same(status, 0, "well");
}

const struct crt_test crt_test = {
	.text = "sockets in a network namespace of their own",
	.setup = setup,
	.verify = verify,
	.flags = FLAGS,
};
