// SPDX-License-Identifier: GPL-2.0-only
/* The same as refuse.c, for sockets of kinds that are restored, in states that are not. */
#define _GNU_SOURCE
#include "refuse-run.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static const struct sockaddr_in anywhere = { .sin_family = AF_INET, .sin_addr.s_addr = 0x0100007f };

static int listener(int backlog, struct sockaddr_in *name)
{
	int fd = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	socklen_t len = sizeof(*name);

	CRT_SYS(bind(fd, (const struct sockaddr *)&anywhere, len));
	CRT_SYS(listen(fd, backlog));
	CRT_SYS(getsockname(fd, (struct sockaddr *)name, &len));
	return fd;
}

static void tcp_pair(int fds[2])
{
	struct sockaddr_in name;
	int waiting = listener(1, &name);

	fds[0] = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(connect(fds[0], (struct sockaddr *)&name, sizeof(name)));
	fds[1] = (int)CRT_SYS(accept(waiting, NULL, NULL));
	CRT_SYS(close(waiting));
}

static bool expect_socket(int fd, const char *reason)
{
	crt_expect("pid %d|fd %d|%s", getpid(), fd, reason);
	return true;
}

/* The listener waits for the first bytes. */
static int deferring, deferred;

static bool make_deferred(void)
{
	struct sockaddr_in name;
	int seconds = 30;

	deferring = listener(4, &name);
	CRT_SYS(setsockopt(deferring, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds)));
	deferred = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(connect(deferred, (struct sockaddr *)&name, sizeof(name)));
	crt_expect("pid %d|fd %d (socket)|:%u, which the listening socket does not have yet (--tcp=close lets it be reset)",
		   getpid(), deferred, ntohs(name.sin_port));
	return true;
}

static bool works_deferred(void)
{
	char byte = 0;
	int fd;

	if (send(deferred, "d", 1, 0) != 1)
		return false;
	fd = accept(deferring, NULL, NULL);
	return fd >= 0 && recv(fd, &byte, 1, 0) == 1 && byte == 'd';
}

static int urgent[2];

static bool make_tcp_urgent(void)
{
	tcp_pair(urgent);
	CRT_SYS(send(urgent[0], "u", 1, MSG_OOB));
	crt_sleep_ms(50);
	return expect_socket(urgent[1], "urgent data (MSG_OOB) in a connection");
}

static bool works_tcp_urgent(void)
{
	char byte = 0;

	return recv(urgent[1], &byte, 1, MSG_OOB) == 1 && byte == 'u';
}

static int spliced[2];

/* What came over a connection lies in pieces larger than a page. */
static bool make_spliced(void)
{
	static char data[30000];
	int fds[2];

	if (crt_page() > sizeof(data)) {
		crt_diag("spliced: a page holds it all");
		return false;
	}
	tcp_pair(fds);
	CRT_SYS(pipe(spliced));
	CRT_SYS(send(fds[0], data, sizeof(data), 0));
	crt_sleep_ms(100);
	CRT_SYS(splice(fds[1], NULL, spliced[1], NULL, sizeof(data), 0));
	return expect_fd(spliced[0], "(pipe): holds pages spliced into it (splice(2), vmsplice(2))");
}

static bool works_spliced(void)
{
	char byte = 'x';

	return read(spliced[0], &byte, 1) == 1 && !byte;
}

static int unix_urgent[2];

static bool make_unix_urgent(void)
{
	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, unix_urgent));
	if (send(unix_urgent[0], "u", 1, MSG_OOB) != 1)
		return false;
	return expect_socket(unix_urgent[1], "urgent data (MSG_OOB) in a Unix socket");
}

static bool works_unix_urgent(void)
{
	char byte = 0;

	return recv(unix_urgent[1], &byte, 1, MSG_OOB) == 1 && byte == 'u';
}

/* ---- UDP ---- */

static int udp_socket(struct sockaddr_in *name)
{
	int fd = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	socklen_t len = sizeof(*name);

	CRT_SYS(bind(fd, (const struct sockaddr *)&anywhere, len));
	CRT_SYS(getsockname(fd, (struct sockaddr *)name, &len));
	return fd;
}

static int corked;

static bool make_corked(void)
{
	struct sockaddr_in name;

	corked = udp_socket(&name);
	CRT_SYS(sendto(corked, "first", 5, MSG_MORE, (struct sockaddr *)&name, sizeof(name)));
	return expect_socket(corked, "datagram that is being put together (UDP_CORK, MSG_MORE)");
}

static bool works_corked(void)
{
	char text[16];

	return send(corked, "second", 6, 0) == 6 && recv(corked, text, sizeof(text), 0) == 11;
}

static bool make_ip_options(void)
{
	static const unsigned char record_route[] = { 7, 7, 4, 0, 0, 0, 0, 0 };
	struct sockaddr_in name;
	int fd = udp_socket(&name);

	if (setsockopt(fd, IPPROTO_IP, IP_OPTIONS, record_route, sizeof(record_route)))
		return false;
	return expect_socket(fd, "UDP socket with IP options or extension headers");
}

/* Nobody has the port any more: the answer waits in the error queue. */
static bool make_udp_error(void)
{
	struct sockaddr_in name, gone;
	int fd = udp_socket(&name), other = udp_socket(&gone), on = 1;

	CRT_SYS(close(other));
	CRT_SYS(setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on)));
	CRT_SYS(sendto(fd, "x", 1, 0, (struct sockaddr *)&gone, sizeof(gone)));
	crt_sleep_ms(50);
	return expect_socket(fd, "UDP socket with messages in its error queue");
}

/* The kernel takes the packets of another protocol out of it. */
static bool make_encapsulation(void)
{
	struct sockaddr_in name;
	int fd = udp_socket(&name), kind = 2;			/* UDP_ENCAP_ESPINUDP */

	if (setsockopt(fd, IPPROTO_UDP, 100, &kind, sizeof(kind)))	/* UDP_ENCAP */
		return false;
	return expect_socket(fd, "UDP socket with a protocol on top of it in the kernel");
}

static int gathering;

static bool make_gathered(void)
{
	struct sockaddr_in name;
	int other, on = 1, segment = 100;
	char data[300] = "";

	gathering = udp_socket(&name);
	other = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	if (setsockopt(gathering, IPPROTO_UDP, 104, &on, sizeof(on)) ||		/* UDP_GRO */
	    setsockopt(other, IPPROTO_UDP, 103, &segment, sizeof(segment)))	/* UDP_SEGMENT */
		return false;
	CRT_SYS(sendto(other, data, sizeof(data), 0, (struct sockaddr *)&name, sizeof(name)));
	CRT_SYS(close(other));
	crt_expect("pid %d|fd %d (socket): aggregated datagrams (UDP_GRO) are queued in it", getpid(), gathering);
	return true;
}

static bool works_gathered(void)
{
	char data[512];

	return recv(gathering, data, sizeof(data), 0) == 300;
}

/* ---- netlink ---- */

static bool make_high_group(void)
{
	int fd = (int)CRT_SYS(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)), group = 33;

	if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)))
		return false;
	return expect_socket(fd, "netlink socket in a group above 32");
}

static bool make_netlink_protocol(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK);

	return fd >= 0 && expect_socket(fd, "netlink socket of this protocol");
}

static bool make_netlink_audit(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT);

	return fd >= 0 && expect_socket(fd, "NETLINK_AUDIT socket, such as sudo has (checkpoint its child)");
}

/* Sent by somebody else who has an address, and still has it. */
static int mailbox;

static void send_letter(void *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX }, from = { .sun_family = AF_UNIX };
	int fd = (int)CRT_SYS(socket(AF_UNIX, SOCK_DGRAM, 0));

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", (const char *)path);
	snprintf(from.sun_path, sizeof(from.sun_path), "%s.from", (const char *)path);
	CRT_SYS(bind(fd, (struct sockaddr *)&from, sizeof(from)));
	CRT_SYS(sendto(fd, "letter", 6, 0, (struct sockaddr *)&to, sizeof(to)));
}

static bool make_letter(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", crt_path("mailbox"));
	mailbox = (int)CRT_SYS(socket(AF_UNIX, SOCK_DGRAM, 0));
	CRT_SYS(bind(mailbox, (struct sockaddr *)&name, sizeof(name)));
	refuse_leave_orphan(send_letter, name.sun_path);
	return expect_socket(mailbox, "a datagram from another process is queued in it, whose source address cannot be bound");
}

static bool works_letter(void)
{
	char text[16];

	return recv(mailbox, text, sizeof(text), 0) == 6 && !memcmp(text, "letter", 6);
}

/* Protocols that a kernel need not have. */
static bool expect_protocol(int type, int protocol, const char *reason)
{
	int fd = socket(AF_INET, type, protocol);

	return fd >= 0 && expect_socket(fd, reason);
}

static bool make_mptcp(void)
{
	return expect_protocol(SOCK_STREAM, 262, "multipath TCP socket (MPTCP) is not supported");
}

static bool make_udplite(void)
{
	return expect_protocol(SOCK_DGRAM, IPPROTO_UDPLITE, "UDP-Lite socket is not supported");
}

static bool make_sctp(void)
{
	return expect_protocol(SOCK_STREAM, IPPROTO_SCTP, "SCTP socket is not supported");
}

static bool make_dccp(void)
{
	return expect_protocol(SOCK_DCCP, IPPROTO_DCCP, "DCCP socket is not supported");
}

struct obstacle obstacles[] = {
	{ .name = "mptcp", .make = make_mptcp },
	{ .name = "udplite", .make = make_udplite },
	{ .name = "sctp", .make = make_sctp },
	{ .name = "dccp", .make = make_dccp },
	{ .name = "tcp-deferred", .make = make_deferred, .works = works_deferred },
	{ .name = "tcp-urgent", .make = make_tcp_urgent, .works = works_tcp_urgent },
	{ .name = "spliced", .make = make_spliced, .works = works_spliced },
	{ .name = "unix-urgent", .make = make_unix_urgent, .works = works_unix_urgent },
	{ .name = "corked", .make = make_corked, .works = works_corked },
	{ .name = "ip-options", .make = make_ip_options },
	{ .name = "udp-error", .make = make_udp_error },
	{ .name = "encapsulation", .make = make_encapsulation },
	{ .name = "gathered", .make = make_gathered, .works = works_gathered },
	{ .name = "netlink-group", .make = make_high_group },
	{ .name = "netlink-protocol", .make = make_netlink_protocol },
	{ .name = "netlink-audit", .make = make_netlink_audit },
	{ .name = "letter", .make = make_letter, .works = works_letter },
};

const unsigned int nr_obstacles = sizeof(obstacles) / sizeof(obstacles[0]);

const struct crt_test crt_test = {
	.text = "sockets in states that cannot be restored are refused by name",
	.setup = refuse_setup,
	.verify = refuse_verify,
	.flags = CRT_REFUSE,
	.cases = "tcp-deferred tcp-urgent unix-urgent letter",
};
