// SPDX-License-Identifier: GPL-2.0-only
/* Filters of TCP sockets, which newer kernels reserve to CAP_NET_ADMIN: of a listening one, what waits in it, and others. */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, 0x7fffffff) };
static struct sock_filter more[] = { BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), BPF_STMT(BPF_RET | BPF_A, 0) };

static int listening, caller, locked;
static struct sockaddr_in name = { .sin_family = AF_INET };

static int attach(int fd, struct sock_filter *filter, unsigned short length)
{
	struct sock_fprog program = { .len = length, .filter = filter };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static void setup(void)
{
	socklen_t len = sizeof(name);
	int on = 1;

	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listening = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(bind(listening, (struct sockaddr *)&name, len));
	CRT_SYS(getsockname(listening, (struct sockaddr *)&name, &len));
	CRT_SYS(listen(listening, 5));
	CRT_SYS(attach(listening, all, 1));
	caller = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(connect(caller, (struct sockaddr *)&name, sizeof(name)));
	CRT_SYS(attach(caller, more, 2));
	CRT_SYS(send(caller, "wait", 4, 0));
	locked = (int)CRT_SYS(socket(AF_INET6, SOCK_STREAM, 0));
	CRT_SYS(attach(locked, more, 2));
	CRT_SYS(setsockopt(locked, SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof(on)));
}

/* As SO_GET_FILTER tells it, which counts in instructions. */
static void is(int fd, const struct sock_filter *filter, unsigned short length, const char *text)
{
	struct sock_filter now[8];
	socklen_t count = 8;

	memset(now, 0, sizeof(now));
	CRT_SYS(getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, now, &count));
	crt_same(count, length, "instructions of the filter of %s", text);
	crt_ok(!memcmp(now, filter, length * sizeof(*filter)), "which are the same");
}

static void verify(void)
{
	char got[8] = "";
	int accepted;

	is(listening, all, 1, "a listening socket");
	is(caller, more, 2, "a connected one");
	is(locked, more, 2, "a locked one");
	crt_ok(attach(locked, all, 1) == -1 && errno == EPERM, "which cannot be replaced");
	crt_ok(!attach(caller, all, 1), "as one that is not locked can");
	accepted = (int)CRT_SYS(accept(listening, NULL, NULL));
	is(accepted, all, 1, "one that waited to be accepted");
	recv(accepted, got, sizeof(got) - 1, 0);
	crt_same_str(got, "wait", "what waited in it");
}

const struct crt_test crt_test = {
	.text = "filters of TCP sockets",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
