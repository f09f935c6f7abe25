// SPDX-License-Identifier: GPL-2.0-only
/* Connected Unix sockets: bytes and messages in both directions, names, options, closed ends. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define STREAM	100000

static int stream[2], packets[2], half[2], lonely, reset, named[2], bound, sender, plain, self;
static int sndbuf, rcvlowat = 7;
static char big[STREAM];

static struct sockaddr_un name_of(const char *path, socklen_t *len)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	/* "@" as in /proc/net/unix: an abstract one */
	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + (path[0] != '@'));
	if (path[0] == '@')
		un.sun_path[0] = '\0';
	return un;
}

static int bound_socket(int type, const char *path)
{
	int fd = (int)CRT_SYS(socket(AF_UNIX, type, 0));
	socklen_t len;
	struct sockaddr_un un = name_of(path, &len);

	CRT_SYS(bind(fd, (struct sockaddr *)&un, len));
	return fd;
}

static const char *abstract(void)
{
	static char name[64];

	snprintf(name, sizeof(name), "@cryo-test-%d", getpid());
	return name;
}

static void setup_streams(void)
{
	struct timeval timeout = { 3, 500000 };
	socklen_t len = sizeof(sndbuf);
	char buf[777];
	int fds[2];

	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, stream));
	crt_fill(big, sizeof(big), 11);
	CRT_SYS(write(stream[0], big, sizeof(big)));
	CRT_SYS(read(stream[1], buf, sizeof(buf)));		/* half read */
	crt_fill(big, sizeof(big), 12);
	CRT_SYS(write(stream[1], big, 5000));
	sndbuf = 50000;
	CRT_SYS(setsockopt(stream[0], SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf)));
	CRT_SYS(getsockopt(stream[0], SOL_SOCKET, SO_SNDBUF, &sndbuf, &len));
	CRT_SYS(setsockopt(stream[0], SOL_SOCKET, SO_RCVLOWAT, &rcvlowat, sizeof(rcvlowat)));
	CRT_SYS(setsockopt(stream[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)));

	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, half));
	CRT_SYS(write(half[0], "last", 4));
	CRT_SYS(shutdown(half[0], SHUT_WR));

	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	CRT_SYS(write(fds[1], "farewell", 8));
	CRT_SYS(close(fds[1]));
	lonely = fds[0];
	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	CRT_SYS(write(fds[0], "unread", 6));
	CRT_SYS(close(fds[1]));
	reset = fds[0];
}

static void setup_messages(void)
{
	socklen_t len;
	struct sockaddr_un un = name_of(crt_path("dgram"), &len);

	CRT_SYS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, packets));
	CRT_SYS(send(packets[0], "one", 3, 0));
	CRT_SYS(send(packets[0], "", 0, 0));
	CRT_SYS(send(packets[0], "third", 5, 0));
	CRT_SYS(send(packets[1], "back", 4, 0));

	bound = bound_socket(SOCK_DGRAM, crt_path("dgram"));
	sender = bound_socket(SOCK_DGRAM, abstract());
	plain = (int)CRT_SYS(socket(AF_UNIX, SOCK_DGRAM, 0));
	CRT_SYS(sendto(sender, "from a name", 11, 0, (struct sockaddr *)&un, len));
	CRT_SYS(sendto(plain, "from nobody", 11, 0, (struct sockaddr *)&un, len));
	CRT_SYS(connect(sender, (struct sockaddr *)&un, len));
	CRT_SYS(send(sender, "connected", 9, 0));
	self = (int)CRT_SYS(socket(AF_UNIX, SOCK_STREAM, 0));
}

/* Accepted and connected, with the listening socket gone. */
static void setup_named(void)
{
	int listener = bound_socket(SOCK_STREAM, crt_path("server"));
	socklen_t len;
	struct sockaddr_un un = name_of(crt_path("server"), &len);

	CRT_SYS(listen(listener, 3));
	named[0] = bound_socket(SOCK_STREAM, crt_path("client"));
	CRT_SYS(connect(named[0], (struct sockaddr *)&un, len));
	named[1] = (int)CRT_SYS(accept(listener, NULL, NULL));
	CRT_SYS(close(listener));
	CRT_SYS(unlink(crt_path("server")));
	CRT_SYS(write(named[0], "to server", 9));
}

static void setup(void)
{
	setup_streams();
	setup_messages();
	setup_named();
}

static void same_read(int fd, const char *expected, const char *what)
{
	char buf[64] = "";
	ssize_t n = recv(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT);

	crt_ok(n == (ssize_t)strlen(expected) && !strcmp(buf, expected), "%s (%zd: \"%s\")", what, n, buf);
}

static void verify_streams(void)
{
	static char now[STREAM], expected[STREAM];
	struct timeval timeout = { 0, 0 };
	socklen_t len = sizeof(int);
	int value = 0;
	ssize_t n = read(stream[1], now, sizeof(now));

	crt_fill(expected, sizeof(expected), 11);
	crt_same(n, STREAM - 777, "bytes of a stream");
	crt_ok(!memcmp(now, expected + 777, STREAM - 777), "are the ones");
	crt_ok(read(stream[1], now, 1) == -1 && errno == EAGAIN, "and no more");
	crt_fill(expected, sizeof(expected), 12);
	crt_same(read(stream[0], now, sizeof(now)), 5000, "bytes in the other direction");
	crt_ok(!memcmp(now, expected, 5000), "are the ones");
	getsockopt(stream[0], SOL_SOCKET, SO_SNDBUF, &value, &len);
	crt_same(value, sndbuf, "size of the send buffer");
	getsockopt(stream[0], SOL_SOCKET, SO_RCVLOWAT, &value, &len);
	crt_same(value, rcvlowat, "SO_RCVLOWAT");
	len = sizeof(timeout);
	getsockopt(stream[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, &len);
	crt_same(timeout.tv_sec * 1000 + timeout.tv_usec / 1000, 3500, "SO_RCVTIMEO");
	crt_same(fcntl(stream[1], F_GETFL), O_RDWR | O_NONBLOCK, "non-blocking");
	CRT_SYS(write(stream[0], "echo", 4));
	same_read(stream[1], "echo", "it works");

	same_read(half[1], "last", "what was sent before shutdown()");
	crt_same(recv(half[1], now, 1, MSG_DONTWAIT), 0, "then the end");
	crt_ok(send(half[0], "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE, "no more writing");
	CRT_SYS(write(half[1], "back", 4));
	same_read(half[0], "back", "the other direction is open");
	same_read(lonely, "farewell", "what one who is gone has sent");
	crt_same(recv(lonely, now, 1, MSG_DONTWAIT), 0, "then the end");
	crt_ok(recv(reset, now, 1, MSG_DONTWAIT) == -1 && errno == ECONNRESET, "one who is gone had not read all");
	crt_same(recv(reset, now, 1, MSG_DONTWAIT), 0, "told once");
}

static void verify_messages(void)
{
	struct sockaddr_un from;
	socklen_t len = sizeof(from);
	char buf[64];

	same_read(packets[1], "one", "a packet");
	same_read(packets[1], "", "an empty one");
	same_read(packets[1], "third", "the third");
	same_read(packets[0], "back", "one in the other direction");
	crt_same(recvfrom(bound, buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)&from, &len), 11, "a datagram");
	from.sun_path[len - offsetof(struct sockaddr_un, sun_path)] = '\0';
	crt_same_str(from.sun_path + 1, abstract() + 1, "its sender's name");
	len = sizeof(from);
	recvfrom(bound, buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)&from, &len);
	crt_ok(len <= sizeof(sa_family_t), "a sender without a name");
	same_read(bound, "connected", "a datagram of a connected one");
	CRT_SYS(send(sender, "again", 5, 0));
	same_read(bound, "again", "which still is connected");
	crt_ok(recv(self, buf, 1, MSG_DONTWAIT) == -1 && errno == EINVAL, "one that never was connected");
}

static void verify_named(void)
{
	struct sockaddr_un un = { 0 };
	socklen_t len = sizeof(un);

	same_read(named[1], "to server", "bytes of an accepted connection");
	getsockname(named[1], (struct sockaddr *)&un, &len);
	crt_same_str(un.sun_path, crt_path("server"), "its name");
	len = sizeof(un);
	getpeername(named[1], (struct sockaddr *)&un, &len);
	crt_same_str(un.sun_path, crt_path("client"), "its client's name");
	crt_ok(access(crt_path("server"), F_OK) == -1, "a name that was removed stays so");
	crt_ok(!access(crt_path("client"), F_OK), "another one is there");
	CRT_SYS(write(named[1], "hello", 5));
	same_read(named[0], "hello", "it works");
}

static void verify(void)
{
	verify_streams();
	verify_messages();
	verify_named();
}

const struct crt_test crt_test = {
	.text = "connected Unix sockets and what waits in them",
	.setup = setup,
	.verify = verify,
};
