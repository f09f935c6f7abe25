// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unix datagrams from sockets that are not connected to where they went: an answer that waits in a client, which is connected to the
 * server; and what a socket has sent to itself.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

struct end {
	int fd;
	struct sockaddr_un name;
	socklen_t size;
};

static struct end server, client, self, autobound;

static void make(struct end *e, const char *path)
{
	e->fd = (int)CRT_SYS(socket(AF_UNIX, SOCK_DGRAM, 0));
	e->name.sun_family = AF_UNIX;
	if (path)
		strncpy(e->name.sun_path, path, sizeof(e->name.sun_path) - 1);
	CRT_SYS(bind(e->fd, (struct sockaddr *)&e->name, path ? sizeof(e->name) : sizeof(sa_family_t)));
	e->size = sizeof(e->name);
	CRT_SYS(getsockname(e->fd, (struct sockaddr *)&e->name, &e->size));
}

static void connect_to(struct end *e, const struct end *to)
{
	CRT_SYS(connect(e->fd, (const struct sockaddr *)&to->name, to->size));
}

static void answer(const struct end *to, const char *text)
{
	CRT_SYS(sendto(server.fd, text, strlen(text), 0, (const struct sockaddr *)&to->name, to->size));
}

static void setup(void)
{
	make(&server, crt_path("server"));
	make(&client, crt_path("client"));
	make(&autobound, NULL);
	make(&self, crt_path("self"));
	connect_to(&client, &server);
	connect_to(&autobound, &server);
	connect_to(&self, &self);
	answer(&client, "first");
	answer(&client, "second");
	answer(&autobound, "third");
	CRT_SYS(send(self.fd, "to myself", 9, 0));
}

static void receive(const struct end *e, const char *text, const struct end *from)
{
	struct sockaddr_un name = {};
	socklen_t size = sizeof(name);
	char got[32] = "";
	ssize_t n = recvfrom(e->fd, got, sizeof(got) - 1, MSG_DONTWAIT, (struct sockaddr *)&name, &size);

	crt_same(n, (long long)strlen(text), "%s: its length", text);
	crt_same_str(got, text, "%s: its bytes", text);
	crt_ok(size == from->size && !memcmp(&name, &from->name, size), "%s: from whom it is", text);
}

static void verify(void)
{
	receive(&client, "first", &server);
	receive(&client, "second", &server);
	receive(&autobound, "third", &server);
	receive(&self, "to myself", &self);
	CRT_SYS(send(client.fd, "question", 8, 0));
	receive(&server, "question", &client);
	CRT_SYS(send(self.fd, "once more", 9, 0));
	receive(&self, "once more", &self);
}

const struct crt_test crt_test = {
	.text = "Unix datagrams of sockets that are not connected to where they sent them",
	.setup = setup,
	.verify = verify,
};
