// SPDX-License-Identifier: GPL-2.0-only
/* Multicast groups, of any source, of some, of all but some, of IPv4 and IPv6; interfaces for what is sent. */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GROUPS	3

static const char *const groups4[GROUPS] = { "239.1.2.3", "232.1.2.4", "239.1.2.5" };
static const char *const groups6[GROUPS] = { "ff12::1:2", "ff35::1:3", "ff12::1:4" };
static const uint32_t modes[GROUPS] = { MCAST_EXCLUDE, MCAST_INCLUDE, MCAST_EXCLUDE };
static const uint32_t counts[GROUPS] = { 0, 2, 1 };

static int fd4, fd6, sender;
static struct sockaddr_in name4;
static unsigned int loopback;

static struct sockaddr_storage address(int family, const char *text)
{
	struct sockaddr_storage to = { .ss_family = (sa_family_t)family };

	if (family == AF_INET)
		inet_pton(family, text, &((struct sockaddr_in *)&to)->sin_addr);
	else
		inet_pton(family, text, &((struct sockaddr_in6 *)&to)->sin6_addr);
	return to;
}

static const char *source(int family, unsigned int n)
{
	static const char *const texts[][2] = { { "127.0.0.1", "127.0.0.9" }, { "::1", "2001:db8::9" } };

	return texts[family == AF_INET6][n];
}

static void ask_for_sources(int fd, int family, const char *group, int option, uint32_t count)
{
	int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;

	for (uint32_t i = 0; i < count; i++) {
		struct group_source_req request = { .gsr_interface = loopback, .gsr_group = address(family, group),
						    .gsr_source = address(family, source(family, i)) };

		CRT_SYS(setsockopt(fd, level, option, &request, sizeof(request)));
	}
}

static void join(int fd, int family, const char *const groups[])
{
	int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;

	for (int i = 0; i < GROUPS; i++) {
		struct group_req request = { .gr_interface = loopback, .gr_group = address(family, groups[i]) };

		if (modes[i] == MCAST_EXCLUDE)
			CRT_SYS(setsockopt(fd, level, MCAST_JOIN_GROUP, &request, sizeof(request)));
		ask_for_sources(fd, family, groups[i], modes[i] == MCAST_EXCLUDE ? MCAST_BLOCK_SOURCE : MCAST_JOIN_SOURCE_GROUP,
				counts[i]);
	}
}

static void setup(void)
{
	struct ip_mreqn interface = { .imr_ifindex = 1, .imr_address.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(name4);
	int off = 0, index = 1;

	loopback = if_nametoindex("lo");
	fd4 = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	name4.sin_family = AF_INET;
	CRT_SYS(bind(fd4, (struct sockaddr *)&name4, len));
	CRT_SYS(getsockname(fd4, (struct sockaddr *)&name4, &len));
	join(fd4, AF_INET, groups4);
	CRT_SYS(setsockopt(fd4, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof(off)));
	fd6 = (int)CRT_SYS(socket(AF_INET6, SOCK_DGRAM, 0));
	join(fd6, AF_INET6, groups6);
	/* One of IPv4, too. */
	join(fd6, AF_INET, groups4);
	CRT_SYS(setsockopt(fd6, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index, sizeof(index)));
	sender = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	CRT_SYS(setsockopt(sender, IPPROTO_IP, IP_MULTICAST_IF, &interface, sizeof(interface)));
}

/* As MCAST_MSFILTER tells it. */
static void look(int fd, int family, const char *const groups[])
{
	int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;

	for (int i = 0; i < GROUPS; i++) {
		union {
			struct group_filter filter;
			char room[GROUP_FILTER_SIZE(4)];
		} now = { .filter = { .gf_interface = loopback, .gf_group = address(family, groups[i]), .gf_numsrc = 4 } };
		socklen_t len = sizeof(now);
		int result = getsockopt(fd, level, MCAST_MSFILTER, &now, &len);

		crt_ok(!result, "is in group %s", groups[i]);
		crt_same(now.filter.gf_fmode, modes[i], "its mode");
		crt_same(now.filter.gf_numsrc, counts[i], "its sources");
		for (uint32_t n = 0; !result && n < counts[i] && n < now.filter.gf_numsrc; n++) {
			struct sockaddr_storage wanted = address(family, source(family, n)), *is = &now.filter.gf_slist[n];

			crt_ok(!memcmp(is, &wanted, family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)),
			       "source %u", n);
		}
	}
}

static void send_to_group(const char *group, const char *text)
{
	struct sockaddr_storage to = address(AF_INET, group);

	((struct sockaddr_in *)&to)->sin_port = name4.sin_port;
	CRT_SYS(sendto(sender, text, strlen(text), 0, (struct sockaddr *)&to, sizeof(struct sockaddr_in)));
}

static void verify(void)
{
	struct in_addr interface = { 0 };
	socklen_t len = sizeof(interface);
	struct pollfd poll_fd = { .fd = fd4, .events = POLLIN };
	char got[16] = "";
	int value = -1;

	look(fd4, AF_INET, groups4);
	look(fd6, AF_INET6, groups6);
	look(fd6, AF_INET, groups4);
	CRT_SYS(getsockopt(sender, IPPROTO_IP, IP_MULTICAST_IF, &interface, &len));
	crt_same(interface.s_addr, htonl(INADDR_LOOPBACK), "IP_MULTICAST_IF");
	len = sizeof(value);
	CRT_SYS(getsockopt(fd6, IPPROTO_IPV6, IPV6_MULTICAST_IF, &value, &len));
	crt_same(value, 1, "IPV6_MULTICAST_IF");
	CRT_SYS(getsockopt(fd4, IPPROTO_IP, IP_MULTICAST_ALL, &value, &len));
	crt_same(value, 0, "IP_MULTICAST_ALL");
	/* That comes from the loopback address, which one of the groups lets through and one does not. */
	send_to_group(groups4[2], "no");
	send_to_group(groups4[1], "yes");
	if (poll(&poll_fd, 1, 2000) == 1)
		recv(fd4, got, sizeof(got) - 1, MSG_DONTWAIT);
	crt_same_str(got, "yes", "what comes from a source that it wants");
}

const struct crt_test crt_test = {
	.text = "multicast groups",
	.setup = setup,
	.verify = verify,
};
