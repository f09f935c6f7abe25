// SPDX-License-Identifier: GPL-2.0-only
/*
 * connected PORT FILE [outside]: a TCP connection with itself; writes to FILE by which port and whether SO_LINGER is set each time it
 * is asked by SIGUSR1. With "outside", a child in a session of its own has one end, too, and writes what read(2) gives at its end.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void tell(const char *path, const char *text)
{
	char aside[256];
	FILE *f;

	snprintf(aside, sizeof(aside), "%s.new", path);
	f = fopen(aside, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) || rename(aside, path))
		fail(path);
}

/* Returns when the other end is closed. */
static void wait_for_end(int fd, const char *path)
{
	char byte;
	ssize_t n;

	setsid();
	n = read(fd, &byte, 1);
	tell(path, n == 0 ? "end\n" : n > 0 ? "bytes\n" : strerror(errno));
	_exit(0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), from = socket(AF_INET, SOCK_STREAM, 0), to, one = 1, got;
	struct linger linger;
	socklen_t size;
	char text[64];
	sigset_t set;

	if (argc < 3)
		return 2;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	name.sin_port = htons((uint16_t)atoi(argv[1]));
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&name, sizeof(name)) || listen(listener, 1))
		fail("listen");
	if (connect(from, (struct sockaddr *)&name, sizeof(name)))
		fail("connect");
	to = accept(listener, NULL, NULL);
	if (to < 0)
		fail("accept");
	if (argc > 3 && !fork()) {
		close(listener);
		close(from);
		wait_for_end(to, argv[2]);
	}
	for (;;) {
		size = sizeof(linger);
		if (getsockopt(from, SOL_SOCKET, SO_LINGER, &linger, &size))
			fail("SO_LINGER");
		snprintf(text, sizeof(text), "%s %d\n", linger.l_onoff ? "lingers" : "plain", linger.l_linger);
		if (argc == 3)
			tell(argv[2], text);
		sigwait(&set, &got);
	}
}
