// SPDX-License-Identifier: GPL-2.0-only
/* Netlink sockets: ports, groups, options; the kernel answers. */
#define _GNU_SOURCE
#include "crtest.h"
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GROUPS	(RTMGRP_LINK | RTMGRP_IPV4_ROUTE)

static int route, second, uevent, fresh;
static unsigned int ports[4];
static const int options[] = { NETLINK_PKTINFO, NETLINK_BROADCAST_ERROR, NETLINK_NO_ENOBUFS, NETLINK_CAP_ACK,
			       NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK };

static struct sockaddr_nl name_of(int fd)
{
	struct sockaddr_nl name = { 0 };
	socklen_t len = sizeof(name);

	CRT_SYS(getsockname(fd, (struct sockaddr *)&name, &len));
	return name;
}

static int make(int type, int protocol, unsigned int groups)
{
	struct sockaddr_nl name = { .nl_family = AF_NETLINK, .nl_groups = groups };
	int fd = (int)CRT_SYS(socket(AF_NETLINK, type, protocol));

	CRT_SYS(bind(fd, (struct sockaddr *)&name, sizeof(name)));
	return fd;
}

static int get(int fd, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	getsockopt(fd, SOL_NETLINK, name, &value, &len);
	return value;
}

/* The index of the loopback interface, as the kernel answers. */
static int ask(int fd)
{
	struct { struct nlmsghdr head; struct ifinfomsg body; } request = {
		.head = { .nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST,
			  .nlmsg_seq = 7 },
		.body = { .ifi_index = 1 },
	};
	char answer[16384];
	struct nlmsghdr *head = (void *)answer;

	CRT_SYS(send(fd, &request, sizeof(request), 0));
	CRT_SYS(recv(fd, answer, sizeof(answer), 0));
	if (head->nlmsg_type != RTM_NEWLINK || head->nlmsg_seq != 7)
		return -1;
	return ((struct ifinfomsg *)NLMSG_DATA(head))->ifi_index;
}

static void setup(void)
{
	int one = 1;

	route = make(SOCK_RAW, NETLINK_ROUTE, GROUPS);
	second = make(SOCK_DGRAM, NETLINK_ROUTE, 0);
	uevent = make(SOCK_RAW, NETLINK_KOBJECT_UEVENT, 1);
	fresh = (int)CRT_SYS(socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE));
	for (unsigned int i = 0; i < sizeof(options) / sizeof(*options); i++)
		CRT_SYS(setsockopt(route, SOL_NETLINK, options[i], &one, sizeof(one)));
	ports[0] = name_of(route).nl_pid;
	ports[1] = name_of(second).nl_pid;
	ports[2] = name_of(uevent).nl_pid;
	if (ask(second) != 1)
		crt_die("the kernel does not answer");
}

static void verify(void)
{
	crt_same(name_of(route).nl_pid, ports[0], "port");
	crt_same(name_of(route).nl_groups, GROUPS, "groups");
	crt_same(name_of(second).nl_pid, ports[1], "port of a second one of the protocol");
	crt_same(name_of(second).nl_groups, 0, "which has no groups");
	crt_same(name_of(uevent).nl_pid, ports[2], "port of another protocol");
	crt_same(name_of(uevent).nl_groups, 1, "and its group");
	crt_same(name_of(fresh).nl_pid, 0, "one without a port has none");
	for (unsigned int i = 0; i < sizeof(options) / sizeof(*options); i++) {
		crt_same(get(route, options[i]), 1, "option %d", options[i]);
		crt_same(get(second, options[i]), 0, "not of the other");
	}
	crt_same(ask(second), 1, "the kernel answers");
	crt_same(ask(fresh), 1, "also for the first time");
}

const struct crt_test crt_test = {
	.text = "netlink",
	.setup = setup,
	.verify = verify,
};
