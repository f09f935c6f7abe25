// SPDX-License-Identifier: GPL-2.0-only
/*
 * UDP: datagrams that wait, from senders that are there or gone, with what recvmsg() tells of them; sockets
 * that are bound, connected, connected by their port alone, shut down, and one that has an error to tell.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define LARGE	60000

static int server, client, unbound, error, half, deaf, pair[2], v6, v6client, timed;
static struct sockaddr_in server_name, client_name, gone_name;
static struct sockaddr_in6 v6_name, v6client_name;
static struct timeval stamp;
static char bytes[LARGE], got[LARGE + 1];

static int make(int family, struct sockaddr *name, socklen_t size)
{
	int fd = (int)CRT_SYS(socket(family, SOCK_DGRAM, 0));

	memset(name, 0, size);
	name->sa_family = (sa_family_t)family;
	if (family == AF_INET)
		((struct sockaddr_in *)name)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)name)->sin6_addr = in6addr_loopback;
	CRT_SYS(bind(fd, name, size));
	CRT_SYS(getsockname(fd, name, &size));
	return fd;
}

static int make4(struct sockaddr_in *name)
{
	return make(AF_INET, (struct sockaddr *)name, sizeof(*name));
}

static int make6(struct sockaddr_in6 *name)
{
	return make(AF_INET6, (struct sockaddr *)name, sizeof(*name));
}

static void set(int fd, int level, int name, int value)
{
	CRT_SYS(setsockopt(fd, level, name, &value, sizeof(value)));
}

static int get(int fd, int level, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	CRT_SYS(getsockopt(fd, level, name, &value, &size));
	return value;
}

static void send_to(int fd, const void *data, size_t size, const void *name, socklen_t name_len)
{
	CRT_SYS(sendto(fd, data, size, 0, name, name_len));
}

/* Until the datagram is there. */
static void await(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	if (poll(&poll_fd, 1, 10000) != 1)
		crt_die("no datagram comes");
}

static void setup_ipv4(void)
{
	int gone;

	server = make4(&server_name);
	client = make4(&client_name);
	gone = make4(&gone_name);
	set(server, IPPROTO_IP, IP_PKTINFO, 1);
	set(server, IPPROTO_IP, IP_RECVTTL, 1);
	set(server, SOL_SOCKET, SO_RCVBUF, 150000);
	crt_fill(bytes, sizeof(bytes), 8);
	set(client, IPPROTO_IP, IP_TTL, 33);
	send_to(client, "first", 5, &server_name, sizeof(server_name));
	send_to(gone, "from one that is gone", 21, &server_name, sizeof(server_name));
	send_to(client, "", 0, &server_name, sizeof(server_name));
	send_to(client, bytes, LARGE, &server_name, sizeof(server_name));
	CRT_SYS(close(gone));
	await(server);
	CRT_SYS(connect(client, (struct sockaddr *)&server_name, sizeof(server_name)));
	send_to(server, "answer", 6, &client_name, sizeof(client_name));
	await(client);
}

/* Connected with each other; one of them neither sends nor receives any more. */
static void setup_pair(void)
{
	struct sockaddr_in names[2];

	for (int i = 0; i < 2; i++)
		pair[i] = make4(&names[i]);
	for (int i = 0; i < 2; i++)
		CRT_SYS(connect(pair[i], (struct sockaddr *)&names[!i], sizeof(names[0])));
	CRT_SYS(shutdown(pair[0], SHUT_RDWR));
}

/* Only who waits is told. */
static bool at_end(int fd)
{
	struct pollfd events = { .fd = fd, .events = POLLIN };
	char byte;

	return poll(&events, 1, 0) == 1 && recv(fd, &byte, 1, 0) == 0;
}

static void verify_shut(void)
{
	char byte;

	crt_ok(at_end(deaf), "one that receives no more: the end");
	crt_same(send(deaf, "", 0, MSG_DONTWAIT), 0, "... it sends");
	crt_ok(at_end(pair[0]), "one of a pair that does neither: the end");
	crt_ok(send(pair[0], "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EPIPE, "... it may not send");
	crt_ok(recv(pair[1], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN, "... nothing waits in the other one");
	crt_same(send(pair[1], "x", 1, MSG_DONTWAIT), 1, "... which sends");
}

static void setup_states(void)
{
	struct sockaddr_in name;
	int gone = make4(&name);

	CRT_SYS(close(gone));
	error = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	CRT_SYS(connect(error, (struct sockaddr *)&name, sizeof(name)));
	CRT_SYS(send(error, "x", 1, 0));
	crt_sleep_ms(200);
	half = make4(&name);
	CRT_SYS(connect(half, (struct sockaddr *)&server_name, sizeof(server_name)));
	CRT_SYS(shutdown(half, SHUT_WR));
	deaf = make4(&name);
	CRT_SYS(connect(deaf, (struct sockaddr *)&server_name, sizeof(server_name)));
	CRT_SYS(shutdown(deaf, SHUT_RD));
	setup_pair();
	unbound = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0));
	set(unbound, SOL_SOCKET, SO_BROADCAST, 1);
	set(unbound, IPPROTO_IP, IP_MULTICAST_TTL, 7);
	timed = make4(&name);
	set(timed, SOL_SOCKET, SO_TIMESTAMP, 1);
	/* The network begins to look at the clock a little later. */
	crt_sleep_ms(500);
	send_to(server, "tick", 4, &name, sizeof(name));
	await(timed);
	gettimeofday(&stamp, NULL);
}

static void setup(void)
{
	setup_ipv4();
	setup_states();
	v6 = make6(&v6_name);
	v6client = make6(&v6client_name);
	set(v6, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	send_to(v6client, "six", 3, &v6_name, sizeof(v6_name));
	await(v6);
}

/* One datagram; the ancillary data of @type is copied to @to. Returns its length. */
static ssize_t receive(int fd, void *name, socklen_t name_len, int type, void *to, size_t size)
{
	char control[256];
	struct iovec vector = { got, sizeof(got) };
	struct msghdr msg = { .msg_name = name, .msg_namelen = name_len, .msg_iov = &vector, .msg_iovlen = 1,
			      .msg_control = control, .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT);

	memset(to, 0, size);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_type == type)
			memcpy(to, CMSG_DATA(c), size);
	return n;
}

static bool is_from(const struct sockaddr_in *name, const struct sockaddr_in *other)
{
	return name->sin_family == AF_INET && name->sin_port == other->sin_port &&
	       name->sin_addr.s_addr == other->sin_addr.s_addr;
}

static void verify_queue(void)
{
	struct sockaddr_in from;
	struct in_pktinfo info;
	int ttl;

	crt_same(receive(server, &from, sizeof(from), IP_TTL, &ttl, sizeof(ttl)), 5, "the first datagram");
	crt_ok(is_from(&from, &client_name) && !memcmp(got, "first", 5), "from its sender");
	crt_same(ttl, 33, "with its time to live");
	crt_same(receive(server, &from, sizeof(from), IP_PKTINFO, &info, sizeof(info)), 21, "the second");
	crt_ok(is_from(&from, &gone_name) && !memcmp(got, "from one", 8), "from a sender that is gone");
	crt_ok(info.ipi_addr.s_addr == htonl(INADDR_LOOPBACK) && info.ipi_ifindex == 1,
	       "with where it was sent to, and by which interface it came (%d)", info.ipi_ifindex);
	crt_same(receive(server, &from, sizeof(from), IP_TTL, &ttl, sizeof(ttl)), 0, "an empty one");
	crt_same(receive(server, &from, sizeof(from), IP_TTL, &ttl, sizeof(ttl)), LARGE, "a large one");
	crt_same(crt_bad(got, LARGE, 8), -1, "byte by byte");
	crt_same(receive(server, &from, sizeof(from), IP_TTL, &ttl, sizeof(ttl)), -EAGAIN, "no more");
}

static void verify_connected(void)
{
	struct sockaddr_in name;
	socklen_t len = sizeof(name);
	int stranger = make4(&name);

	crt_same(recv(client, got, sizeof(got), MSG_DONTWAIT), 6, "what waited in a connected one");
	crt_ok(!getpeername(client, (struct sockaddr *)&name, &len) && is_from(&name, &server_name), "its peer");
	crt_ok(!getsockname(client, (struct sockaddr *)&name, &len) && is_from(&name, &client_name), "its name");
	send_to(stranger, "no", 2, &client_name, sizeof(client_name));
	send_to(server, "yes", 3, &client_name, sizeof(client_name));
	await(client);
	crt_same(recv(client, got, sizeof(got), MSG_DONTWAIT), 3, "hears its peer alone");
	crt_same(send(client, "back", 4, 0), 4, "and speaks to it");
	await(server);
	crt_same(recv(server, got, sizeof(got), MSG_DONTWAIT), 4, "which hears it");
	close(stranger);
}

static void verify_states(void)
{
	struct sockaddr_in name, none = { .sin_family = AF_UNSPEC };
	socklen_t len = sizeof(name);
	struct timeval when;
	int64_t late;

	crt_same(get(error, SOL_SOCKET, SO_ERROR), ECONNREFUSED, "an error that nobody has seen");
	crt_same(get(error, SOL_SOCKET, SO_ERROR), 0, "is seen once");
	CRT_SYS(connect(error, (struct sockaddr *)&none, sizeof(none)));
	CRT_SYS(getsockname(error, (struct sockaddr *)&name, &len));
	crt_same(name.sin_addr.s_addr, 0, "an address that connect() chose goes with the connection");
	crt_ok(send(half, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE, "shut down for writing");
	len = sizeof(name);
	CRT_SYS(getsockname(unbound, (struct sockaddr *)&name, &len));
	crt_same(name.sin_port, 0, "an unbound one has no port");
	crt_same(get(unbound, SOL_SOCKET, SO_BROADCAST), 1, "SO_BROADCAST");
	crt_same(get(unbound, IPPROTO_IP, IP_MULTICAST_TTL), 7, "IP_MULTICAST_TTL");
	crt_same(get(server, SOL_SOCKET, SO_RCVBUF), 300000, "SO_RCVBUF");
	crt_ok(recv(unbound, got, 1, 0) == -1 && errno == EAGAIN, "does not block");
	crt_same(receive(timed, NULL, 0, SCM_TIMESTAMP, &when, sizeof(when)), 4, "with SO_TIMESTAMP");
	late = (stamp.tv_sec - when.tv_sec) * 1000000LL + stamp.tv_usec - when.tv_usec;
	crt_ok(late >= 0 && late < 5000000, "when it came (%lld us before it was seen)", (long long)late);
}

static void verify(void)
{
	struct sockaddr_in6 from6;
	struct in6_pktinfo info6;

	verify_queue();
	verify_connected();
	verify_states();
	crt_same(receive(v6, &from6, sizeof(from6), IPV6_PKTINFO, &info6, sizeof(info6)), 3, "IPv6");
	crt_ok(from6.sin6_port == v6client_name.sin6_port && !memcmp(&from6.sin6_addr, &in6addr_loopback, 16),
	       "from its sender");
	crt_ok(info6.ipi6_ifindex == 1 && !memcmp(&info6.ipi6_addr, &in6addr_loopback, 16), "IPV6_PKTINFO");
	send_to(v6, "echo", 4, &v6client_name, sizeof(v6client_name));
	await(v6client);
	crt_same(recv(v6client, got, sizeof(got), MSG_DONTWAIT), 4, "goes on");
	verify_shut();
}

const struct crt_test crt_test = {
	.text = "UDP",
	.setup = setup,
	.verify = verify,
};
