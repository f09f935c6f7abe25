// SPDX-License-Identifier: GPL-2.0-only
/*
 * Raw sockets of IPv4 and IPv6, with their own options, filters and addresses; a ping socket; network interfaces that options name by
 * their index.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#ifndef ICMP_FILTER
#define ICMP_FILTER 1
#endif
#define ICMP6_FILTER_OPTION 1
#define CHECKSUM_AT 6
#define PING_IDENT 4711
#define OWN_PROTOCOL 253

static int icmp, header, icmp6, own6, ping, transport[4];
static const int transports[4][2] = {
	{ AF_INET, IPPROTO_TCP }, { AF_INET6, IPPROTO_TCP }, { AF_INET, IPPROTO_UDP }, { AF_INET6, IPPROTO_UDP } };
static struct icmp_filter filter;
static unsigned int filter6[8];

static int option_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, level, name, &value, &size) ? -errno : value;
}

static void set(int fd, int level, int name, int value)
{
	CRT_SYS(setsockopt(fd, level, name, &value, sizeof(value)));
}

static struct sockaddr_in local(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void setup(void)
{
	struct sockaddr_in address = local(0);
	struct sockaddr_in6 address6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	crt_put("/proc/sys/net/ipv4/ping_group_range", "0 2147483647", 0);
	icmp = (int)CRT_SYS(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
	filter.data = ~(1U << ICMP_ECHO);
	CRT_SYS(setsockopt(icmp, SOL_RAW, ICMP_FILTER, &filter, sizeof(filter)));
	CRT_SYS(bind(icmp, (struct sockaddr *)&address, sizeof(address)));
	address = local(1);		/* without a port it would not tell its peer */
	CRT_SYS(connect(icmp, (struct sockaddr *)&address, sizeof(address)));

	header = (int)CRT_SYS(socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_TCP));
	set(header, IPPROTO_IP, IP_HDRINCL, 1);
	set(header, IPPROTO_IP, IP_UNICAST_IF, (int)htonl(if_nametoindex("lo")));

	icmp6 = (int)CRT_SYS(socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6));
	for (int i = 0; i < 8; i++)
		filter6[i] = 0xf0f0f0f0U + (unsigned int)i;
	CRT_SYS(setsockopt(icmp6, IPPROTO_ICMPV6, ICMP6_FILTER_OPTION, filter6, sizeof(filter6)));
	CRT_SYS(bind(icmp6, (struct sockaddr *)&address6, sizeof(address6)));

	own6 = (int)CRT_SYS(socket(AF_INET6, SOCK_RAW, OWN_PROTOCOL));
	set(own6, IPPROTO_IPV6, IPV6_CHECKSUM, CHECKSUM_AT);
	set(own6, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)if_nametoindex("lo"));
	set(own6, IPPROTO_IPV6, IPV6_UNICAST_IF, (int)htonl(if_nametoindex("lo")));

	/* Protocols that have sockets of their own. */
	for (int i = 0; i < 4; i++)
		transport[i] = (int)CRT_SYS(socket(transports[i][0], SOCK_RAW, transports[i][1]));

	ping = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP));
	address = local(PING_IDENT);
	CRT_SYS(bind(ping, (struct sockaddr *)&address, sizeof(address)));
}

static void same_name(int fd, int port, const char *text)
{
	struct sockaddr_in name = {};
	socklen_t size = sizeof(name);

	crt_same(getsockname(fd, (struct sockaddr *)&name, &size), 0, "%s has an address", text);
	crt_same(ntohl(name.sin_addr.s_addr), INADDR_LOOPBACK, "it is what it was bound to");
	crt_same(ntohs(name.sin_port), port, "and its number");
}

/* One packet, or none; returns the ICMP type, -1: none. */
static int receive(int fd, size_t skip)
{
	unsigned char packet[256];
	ssize_t n = 0;

	for (int i = 0; i < 100; i++) {
		n = recv(fd, packet, sizeof(packet), MSG_DONTWAIT);
		if (n >= 0 || errno != EAGAIN)
			break;
		crt_sleep_ms(10);
	}
	return n > (ssize_t)skip ? packet[skip] : -1;
}

static void exchange(void)
{
	struct sockaddr_in to = local(0);
	struct icmphdr echo = { .type = ICMP_ECHO };

	CRT_SYS(sendto(ping, &echo, sizeof(echo), 0, (struct sockaddr *)&to, sizeof(to)));
	crt_same(receive(ping, 0), ICMP_ECHOREPLY, "an echo is answered");
	/* Of the two, request and answer, the filter lets one through. */
	crt_same(receive(icmp, 20), ICMP_ECHO, "the request comes to the raw socket, too");
	crt_same(recv(icmp, &echo, sizeof(echo), MSG_DONTWAIT) < 0 ? errno : 0, EAGAIN, "the answer is filtered");
}

static void verify(void)
{
	struct icmp_filter now = {};
	unsigned int now6[8] = {};
	struct sockaddr_in6 name6 = {};
	struct sockaddr_in peer = {};
	socklen_t size = sizeof(now);
	int lo = (int)if_nametoindex("lo");

	crt_same(option_of(icmp, SOL_SOCKET, SO_PROTOCOL), IPPROTO_ICMP, "protocol of a raw socket");
	crt_same(option_of(icmp, SOL_SOCKET, SO_TYPE), SOCK_RAW, "its type");
	crt_same(getsockopt(icmp, SOL_RAW, ICMP_FILTER, &now, &size) ? 0 : now.data, filter.data, "its filter");
	same_name(icmp, IPPROTO_ICMP, "it");
	size = sizeof(peer);
	crt_same(getpeername(icmp, (struct sockaddr *)&peer, &size), 0, "it is connected");
	crt_same(ntohl(peer.sin_addr.s_addr), INADDR_LOOPBACK, "to where it was");

	crt_same(option_of(header, IPPROTO_IP, IP_HDRINCL), 1, "IP_HDRINCL");
	crt_same(option_of(header, SOL_SOCKET, SO_PROTOCOL), IPPROTO_TCP, "protocol of another one");
	crt_same(fcntl(header, F_GETFL) & O_NONBLOCK, O_NONBLOCK, "O_NONBLOCK");
	crt_same((int)ntohl((unsigned int)option_of(header, IPPROTO_IP, IP_UNICAST_IF)), lo, "IP_UNICAST_IF");

	size = sizeof(now6);
	CRT_SYS(getsockopt(icmp6, IPPROTO_ICMPV6, ICMP6_FILTER_OPTION, now6, &size));
	crt_ok(!memcmp(now6, filter6, sizeof(now6)), "filter of ICMPv6");
	size = sizeof(name6);
	CRT_SYS(getsockname(icmp6, (struct sockaddr *)&name6, &size));
	crt_ok(!memcmp(&name6.sin6_addr, &in6addr_loopback, sizeof(in6addr_loopback)), "address of that one");

	crt_same(option_of(own6, IPPROTO_IPV6, IPV6_CHECKSUM), CHECKSUM_AT, "IPV6_CHECKSUM");
	crt_same(option_of(own6, IPPROTO_IPV6, IPV6_MULTICAST_IF), lo, "IPV6_MULTICAST_IF");
	crt_same((int)ntohl((unsigned int)option_of(own6, IPPROTO_IPV6, IPV6_UNICAST_IF)), lo, "IPV6_UNICAST_IF");

	for (int i = 0; i < 4; i++) {
		crt_same(option_of(transport[i], SOL_SOCKET, SO_TYPE), SOCK_RAW, "type of a raw socket of TCP or UDP");
		crt_same(option_of(transport[i], SOL_SOCKET, SO_DOMAIN), transports[i][0], "its family");
		crt_same(option_of(transport[i], SOL_SOCKET, SO_PROTOCOL), transports[i][1], "its protocol");
	}

	same_name(ping, PING_IDENT, "a ping socket");
	exchange();
}

const struct crt_test crt_test = {
	.text = "raw and ping sockets keep what they are, their filters and addresses",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
