// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs of classic BPF: filters of sockets that anybody may give them to, locked and not; and one that chooses among sockets
 * with one port.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SHARING		3	/* sockets with one port */
#define UDP_HEADER	8

/* Lets datagrams through of which the byte at @at is 'y'. */
#define FILTER(at) { \
	BPF_STMT(BPF_LD | BPF_B | BPF_ABS, at), \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 'y', 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, 0xffff), \
	BPF_STMT(BPF_RET | BPF_K, 0), \
}

static const struct sock_filter of_unix[] = FILTER(0);
static const struct sock_filter of_udp[] = FILTER(UDP_HEADER);
static const struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, 0x7fffffff) };
static const struct sock_filter none[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
/* The digit that is sent says which one gets it. */
static const struct sock_filter by_digit[] = {
	BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
	BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, '0'),
	BPF_STMT(BPF_RET | BPF_A, 0),
};

#define COUNT(program)	((unsigned short)(sizeof(program) / sizeof((program)[0])))
#define ATTACH(fd, option, program)	attach(fd, option, program, COUNT(program))
#define IS(fd, program, text)	is(fd, program, COUNT(program), text)

static int pair[2], udp, locked, netlink, sharing[SHARING], lock_alone;
static struct sockaddr_in udp_name, shared_name;

static int attach(int fd, int option, const struct sock_filter *filter, unsigned short length)
{
	struct sock_fprog program = { .len = length, .filter = (struct sock_filter *)filter };

	return setsockopt(fd, SOL_SOCKET, option, &program, sizeof(program));
}

static void set(int fd, int option)
{
	int on = 1;

	CRT_SYS(setsockopt(fd, SOL_SOCKET, option, &on, sizeof(on)));
}

static int bound(int type, struct sockaddr_in *name, bool share)
{
	int fd = (int)CRT_SYS(socket(AF_INET, type, 0));
	socklen_t len = sizeof(*name);

	if (share)
		set(fd, SO_REUSEPORT);
	name->sin_family = AF_INET;
	name->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CRT_SYS(bind(fd, (struct sockaddr *)name, len));
	CRT_SYS(getsockname(fd, (struct sockaddr *)name, &len));
	return fd;
}

/* Bound in another order than that of their numbers. */
static void make_sharing(void)
{
	int first = (int)CRT_SYS(dup(0));

	for (int i = SHARING - 1; i >= 0; i--)
		sharing[i] = bound(SOCK_DGRAM, &shared_name, true);
	CRT_SYS(ATTACH(sharing[0], SO_ATTACH_REUSEPORT_CBPF, by_digit));
	/* The last one that was bound gets a lower number. */
	CRT_SYS(dup2(sharing[0], first));
	close(sharing[0]);
	sharing[0] = first;
}

static void setup(void)
{
	CRT_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	CRT_SYS(send(pair[1], "before", 6, 0));
	CRT_SYS(ATTACH(pair[0], SO_ATTACH_FILTER, of_unix));
	udp = bound(SOCK_DGRAM, &udp_name, false);
	CRT_SYS(sendto(udp, "before", 6, 0, (struct sockaddr *)&udp_name, sizeof(udp_name)));
	crt_sleep_ms(100);
	CRT_SYS(ATTACH(udp, SO_ATTACH_FILTER, of_udp));
	locked = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	CRT_SYS(ATTACH(locked, SO_ATTACH_FILTER, of_udp));
	set(locked, SO_LOCK_FILTER);
	lock_alone = (int)CRT_SYS(socket(AF_UNIX, SOCK_STREAM, 0));
	set(lock_alone, SO_LOCK_FILTER);
	netlink = (int)CRT_SYS(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
	CRT_SYS(ATTACH(netlink, SO_ATTACH_FILTER, none));
	make_sharing();
}

/* As SO_GET_FILTER tells it, which counts in instructions. */
static void is(int fd, const struct sock_filter *filter, unsigned short length, const char *text)
{
	struct sock_filter now[64];
	socklen_t count = 64;

	memset(now, 0, sizeof(now));
	CRT_SYS(getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, now, &count));
	crt_same(count, length, "instructions of the filter of %s", text);
	crt_ok(!memcmp(now, filter, length * sizeof(*filter)), "which are the same");
}

static void says(int fd, const char *text, const char *what)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	char got[16] = "";

	if (poll(&poll_fd, 1, 2000) == 1)
		recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT);
	crt_same_str(got, text, "%s", what);
}

static void verify_locks(void)
{
	crt_ok(ATTACH(locked, SO_ATTACH_FILTER, all) == -1 && errno == EPERM, "a locked filter cannot be replaced");
	crt_ok(setsockopt(locked, SOL_SOCKET, SO_DETACH_FILTER, &udp, sizeof(udp)) == -1 && errno == EPERM, "nor detached");
	crt_ok(ATTACH(lock_alone, SO_ATTACH_FILTER, all) == -1 && errno == EPERM, "nor can one be attached where none is");
}

static void verify_sharing(void)
{
	int from = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));

	/* They were bound from the last one to the first. */
	for (int i = 0; i < SHARING; i++) {
		char digit[2] = { (char)('0' + SHARING - 1 - i) };

		CRT_SYS(sendto(from, digit, 1, 0, (struct sockaddr *)&shared_name, sizeof(shared_name)));
		says(sharing[i], digit, "what the program chooses it for");
	}
	close(from);
}

static void verify(void)
{
	IS(pair[0], of_unix, "a Unix socket");
	says(pair[0], "before", "what waited in it");
	send(pair[1], "no", 2, 0);
	CRT_SYS(send(pair[1], "yes", 3, 0));
	says(pair[0], "yes", "what it lets through");
	IS(udp, of_udp, "a UDP socket");
	says(udp, "before", "what waited in it");
	CRT_SYS(sendto(udp, "no", 2, 0, (struct sockaddr *)&udp_name, sizeof(udp_name)));
	CRT_SYS(sendto(udp, "yes", 3, 0, (struct sockaddr *)&udp_name, sizeof(udp_name)));
	says(udp, "yes", "what it lets through");
	IS(locked, of_udp, "a locked one");
	IS(netlink, none, "a netlink socket");
	crt_ok(!ATTACH(udp, SO_ATTACH_FILTER, all), "one that is not locked can be replaced");
	verify_locks();
	verify_sharing();
}

const struct crt_test crt_test = {
	.text = "filters of sockets",
	.setup = setup,
	.verify = verify,
};
