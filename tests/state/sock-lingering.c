// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP ports without SO_REUSEADDR that closed connections keep for a minute (TIME_WAIT): those from before the checkpoint, and
 * those that end with the process, whichever end is closed first. Root does not wait for that minute, as the parameter
 * time_wait_ports lets nobody do (hostile/ports).
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in where;
static int listener, first[2], second[2];

static int call(void)
{
	int fd = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));

	CRT_SYS(connect(fd, (struct sockaddr *)&where, sizeof(where)));
	return fd;
}

static void connect_pair(int pair[2])
{
	pair[0] = call();
	pair[1] = (int)CRT_SYS(accept(listener, NULL, NULL));
}

/* The one that is closed first lingers. */
static void make_lingering(int end)
{
	int pair[2];
	char byte;

	connect_pair(pair);
	close(pair[end]);
	CRT_SYS(recv(pair[!end], &byte, 1, 0));
	close(pair[!end]);
}

static void setup(void)
{
	socklen_t size = sizeof(where);
	int low;

	listener = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	where = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	CRT_SYS(bind(listener, (struct sockaddr *)&where, sizeof(where)));
	CRT_SYS(listen(listener, 4));
	CRT_SYS(getsockname(listener, (struct sockaddr *)&where, &size));
	make_lingering(0);
	make_lingering(1);
	/* At the end of a process, files are closed in the order of their numbers. */
	connect_pair(first);
	connect_pair(second);
	low = second[0];
	second[0] = (int)CRT_SYS(dup2(low, 100));
	close(low);
}

static void verify_pair(int pair[2], const char *what)
{
	char text[8] = "";

	CRT_SYS(send(pair[0], "hello", 5, 0));
	CRT_SYS(recv(pair[1], text, sizeof(text) - 1, 0));
	crt_same_str(text, "hello", "%s carries bytes", what);
}

static void verify(void)
{
	int third[2], on = -1;
	socklen_t size = sizeof(on);

	verify_pair(first, "a connection");
	verify_pair(second, "one whose ends are closed in the other order");
	connect_pair(third);
	verify_pair(third, "a new one");
	CRT_SYS(getsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, &size));
	crt_same(on, 0, "no SO_REUSEADDR");
}

const struct crt_test crt_test = {
	.text = "ports that closed connections keep",
	.flags = CRT_ROOT,
	.setup = setup,
	.verify = verify,
};
