// SPDX-License-Identifier: GPL-2.0-only
/* Connections that wait to be accepted: their order, and what was sent meanwhile. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listener, early[2], clients[3];

static int call(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = (int)CRT_SYS(socket(AF_UNIX, SOCK_STREAM, 0));

	strcpy(un.sun_path, crt_path("listener"));
	CRT_SYS(connect(fd, (struct sockaddr *)&un, sizeof(un)));
	return fd;
}

static void setup(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	listener = (int)CRT_SYS(socket(AF_UNIX, SOCK_STREAM, 0));
	strcpy(un.sun_path, crt_path("listener"));
	CRT_SYS(bind(listener, (struct sockaddr *)&un, sizeof(un)));
	CRT_SYS(listen(listener, 4));
	early[0] = call();
	early[1] = (int)CRT_SYS(accept(listener, NULL, NULL));
	for (int i = 0; i < 3; i++) {
		clients[i] = call();
		CRT_SYS(write(clients[i], &"012"[i], 1));
	}
	CRT_SYS(close(clients[1]));		/* gone before it was accepted */
}

static void verify(void)
{
	char byte = 0;
	int fd;

	CRT_SYS(write(early[0], "e", 1));
	crt_ok(read(early[1], &byte, 1) == 1 && byte == 'e', "the one that was accepted before");
	CRT_SYS(fcntl(listener, F_SETFL, O_NONBLOCK));
	for (int i = 0; i < 3; i++) {
		fd = accept(listener, NULL, NULL);
		crt_ok(fd >= 0, "connection %d is accepted", i);
		crt_ok(read(fd, &byte, 1) == 1 && byte == '0' + i, "its byte is there");
		if (i == 1) {
			crt_same(read(fd, &byte, 1), 0, "its end too");
		} else {
			CRT_SYS(write(fd, "a", 1));
			crt_ok(read(clients[i], &byte, 1) == 1 && byte == 'a', "and it works");
		}
		close(fd);
	}
	crt_ok(accept(listener, NULL, NULL) == -1 && errno == EAGAIN, "then there is none");
	fd = call();
	crt_ok(accept(listener, NULL, NULL) >= 0, "until somebody calls");
	close(fd);
	CRT_SYS(fcntl(listener, F_SETFL, 0));
}

const struct crt_test crt_test = {
	.text = "connections that wait to be accepted",
	.setup = setup,
	.verify = verify,
};
