// SPDX-License-Identifier: GPL-2.0-only
/* Options of sockets that an ordinary user may set, each with a value that is not that of a new socket. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Those that the C library's headers lack have their numbers. */
#define RECVERR_RFC4884_OF_IP	26
#define LOCAL_PORT_RANGE	51
#define RECVERR_RFC4884_OF_IPV6	31
#define FLOWINFO_SEND		33
#define SEGMENT			103
#define GRO			104
#define NO_CHECK6_TX		101
#define NO_CHECK6_RX		102
#define CORK			1

struct option {
	int family, type;
	int level, name, value;
	const char *text;
};

#define OPTION(family, type, level, name, value) { family, type, level, name, value, #name }

static const struct option options[] = {
	OPTION(AF_INET, SOCK_DGRAM, SOL_SOCKET, SO_PRIORITY, 5),
	OPTION(AF_INET, SOCK_DGRAM, SOL_SOCKET, SO_TIMESTAMPING, SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE),
	OPTION(AF_INET, SOCK_DGRAM, SOL_SOCKET, SO_SELECT_ERR_QUEUE, 1),
	OPTION(AF_INET, SOCK_DGRAM, SOL_SOCKET, SO_RXQ_OVFL, 1),
	OPTION(AF_UNIX, SOCK_DGRAM, SOL_SOCKET, SO_PEEK_OFF, 7),
	OPTION(AF_INET, SOCK_DGRAM, IPPROTO_IP, IP_TOS, 0x48),
	OPTION(AF_INET, SOCK_DGRAM, IPPROTO_IP, IP_PKTINFO, 1),
	OPTION(AF_INET, SOCK_DGRAM, IPPROTO_IP, IP_RECVERR, 1),
	OPTION(AF_INET, SOCK_DGRAM, IPPROTO_IP, IP_FREEBIND, 1),
	OPTION(AF_INET, SOCK_DGRAM, IPPROTO_IP, IP_RECVFRAGSIZE, 1),
	OPTION(AF_INET, SOCK_DGRAM, IPPROTO_IP, RECVERR_RFC4884_OF_IP, 1),
	OPTION(AF_INET, SOCK_DGRAM, IPPROTO_IP, LOCAL_PORT_RANGE, 40000 | 41000 << 16),
	OPTION(AF_INET, SOCK_DGRAM, IPPROTO_UDP, CORK, 1),
	OPTION(AF_INET, SOCK_DGRAM, IPPROTO_UDP, SEGMENT, 1000),
	OPTION(AF_INET, SOCK_DGRAM, IPPROTO_UDP, GRO, 1),
	OPTION(AF_INET6, SOCK_DGRAM, IPPROTO_UDP, NO_CHECK6_TX, 1),
	OPTION(AF_INET6, SOCK_DGRAM, IPPROTO_UDP, NO_CHECK6_RX, 1),
	OPTION(AF_INET6, SOCK_DGRAM, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0),
	OPTION(AF_INET6, SOCK_DGRAM, IPPROTO_IPV6, RECVERR_RFC4884_OF_IPV6, 1),
	OPTION(AF_INET6, SOCK_DGRAM, IPPROTO_IPV6, IPV6_RECVFRAGSIZE, 1),
	OPTION(AF_INET6, SOCK_DGRAM, IPPROTO_IPV6, FLOWINFO_SEND, 1),
	OPTION(AF_INET6, SOCK_DGRAM, IPPROTO_IPV6, IPV6_ADDR_PREFERENCES, 0x402 /* public, home */),
	OPTION(AF_INET6, SOCK_STREAM, IPPROTO_IPV6, IPV6_TCLASS, 0x48),
	OPTION(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_NODELAY, 1),
	OPTION(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_CORK, 1),
	OPTION(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_KEEPIDLE, 100),
	OPTION(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_KEEPINTVL, 33),
	OPTION(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_KEEPCNT, 4),
	OPTION(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_USER_TIMEOUT, 12345),
	OPTION(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_FASTOPEN, 6),
	OPTION(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1),
	OPTION(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, 1),
	OPTION(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_SAVE_SYN, 1),
	OPTION(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_MAXSEG, 1111),
	OPTION(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_TX_DELAY, 1000),
};

#define OPTIONS	(sizeof(options) / sizeof(options[0]))

static int fds[OPTIONS];
static char congestion[16];
static int with_congestion;

/* False: the kernel does not have it. */
static bool set(int i)
{
	const struct option *o = &options[i];

	fds[i] = (int)CRT_SYS(socket(o->family, o->type, 0));
	if (!setsockopt(fds[i], o->level, o->name, &o->value, sizeof(o->value)))
		return true;
	crt_diag("%s: %s", o->text, strerror(errno));
	if (errno != ENOPROTOOPT)
		crt_die("%s", o->text);
	return false;
}

static void setup(void)
{
	for (unsigned int i = 0; i < OPTIONS; i++)
		if (!set((int)i))
			close(fds[i]), fds[i] = -1;
	with_congestion = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(setsockopt(with_congestion, IPPROTO_TCP, TCP_CONGESTION, "reno", 4));
}

static void verify(void)
{
	socklen_t len = sizeof(congestion);

	for (unsigned int i = 0; i < OPTIONS; i++) {
		const struct option *o = &options[i];
		int value = -1;
		socklen_t size = sizeof(value);

		if (fds[i] < 0)
			continue;
		CRT_SYS(getsockopt(fds[i], o->level, o->name, &value, &size));
		crt_same(value, o->value, "%s", o->text);
	}
	CRT_SYS(getsockopt(with_congestion, IPPROTO_TCP, TCP_CONGESTION, congestion, &len));
	crt_same_str(congestion, "reno", "TCP_CONGESTION");
}

const struct crt_test crt_test = {
	.text = "options of sockets",
	.setup = setup,
	.verify = verify,
};
