// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program with a socket that another process has as well, which is in no checkpoint: that takes messages with files
 * out of it while they are looked at.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES	2	/* in each message */

static int ends[2];
static atomic_ulong messages, failed;
static atomic_bool end;
static pthread_t sender;

struct control {
	struct cmsghdr head;
	int files[FILES];
};

/* Nobody but the message has the files. */
static bool send_files(void)
{
	struct control control = { .head = { CMSG_LEN(sizeof(control.files)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec byte = { .iov_base = "x", .iov_len = 1 };
	struct msghdr message = { .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	bool good = true;

	for (int i = 0; i < FILES; i++)
		good = good && (control.files[i] = eventfd(0, EFD_CLOEXEC)) >= 0;
	good = good && sendmsg(ends[0], &message, 0) == 1;
	for (int i = 0; i < FILES; i++)
		close(control.files[i]);
	return good;
}

static void *send_all(void *unused)
{
	(void)unused;
	while (!end) {
		failed += !send_files();
		messages++;
	}
	return NULL;
}

/* ---- the other process ---- */

static void take_files(void)
{
	struct control control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	if (recvmsg(ends[1], &message, 0) != 1)
		_exit(0);
	for (int i = 0; i < FILES && message.msg_controllen == sizeof(control); i++)
		close(control.files[i]);
}

/* Nobody's child that we know, and so not in our tree. */
static void start_outsider(void)
{
	pid_t child = fork();

	if (!child) {
		if (fork())
			_exit(0);
		close(ends[0]);
		for (;;)
			take_files();
	}
	CRT_SYS(child);
	CRT_SYS(waitpid(child, NULL, 0));
}

static void setup(void)
{
	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
	start_outsider();
	CRT_SYS(-pthread_create(&sender, NULL, send_all, NULL));
}

static void verify(void)
{
	end = true;
	pthread_join(sender, NULL);
	crt_ok(messages > 0, "was busy (%lu messages)", (unsigned long)messages);
	crt_same((long long)failed, 0, "no call failed");
}

const struct crt_test crt_test = {
	.text = "a program that shares a socket with another never notices",
	.setup = setup,
	.verify = verify,
	.timeout_s = 600,
};
