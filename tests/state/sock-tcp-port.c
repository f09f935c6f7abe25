// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP connections from ports out of the range that the kernel chooses from (ip_local_port_range): one that has been accepted, and two that
 * wait for it. Nothing else waits there after a restart.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT	20011

static int listener, callers[3], accepted;

static int call(const struct sockaddr_in *to, int port)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr = to->sin_addr, .sin_port = htons((uint16_t)port) };
	int fd = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0)), on = 1;

	CRT_SYS(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	CRT_SYS(bind(fd, (struct sockaddr *)&from, sizeof(from)));
	CRT_SYS(connect(fd, (const struct sockaddr *)to, sizeof(*to)));
	return fd;
}

static void setup(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(to);

	listener = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(bind(listener, (struct sockaddr *)&to, len));
	CRT_SYS(listen(listener, 4));
	CRT_SYS(getsockname(listener, (struct sockaddr *)&to, &len));
	for (int i = 0; i < 3; i++) {
		callers[i] = call(&to, PORT + i);
		CRT_SYS(write(callers[i], &"012"[i], 1));
	}
	accepted = (int)CRT_SYS(accept(listener, NULL, NULL));
	CRT_SYS(fcntl(listener, F_SETFL, O_NONBLOCK));
}

static void verify_pair(int fd, int i)
{
	struct sockaddr_in name;
	socklen_t len = sizeof(name);
	char byte = 0;

	CRT_SYS(getpeername(fd, (struct sockaddr *)&name, &len));
	crt_same(ntohs(name.sin_port), PORT + i, "its port");
	crt_ok(read(fd, &byte, 1) == 1 && byte == '0' + i, "its byte");
	CRT_SYS(write(fd, "a", 1));
	crt_ok(read(callers[i], &byte, 1) == 1 && byte == 'a', "the answer");
	CRT_SYS(write(callers[i], &"012"[i], 1));
}

static void verify(void)
{
	static int waiting[3];

	verify_pair(accepted, 0);
	for (int i = 1; i < 3; i++) {
		if (!waiting[i])
			waiting[i] = (int)CRT_SYS(accept(listener, NULL, NULL));
		verify_pair(waiting[i], i);
	}
	crt_ok(accept(listener, NULL, NULL) < 0 && errno == EAGAIN, "nobody else waits");
}

const struct crt_test crt_test = {
	.text = "TCP connections from ports that the kernel does not choose from",
	.setup = setup,
	.verify = verify,
	.timeout_s = 200,
};
