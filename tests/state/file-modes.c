// SPDX-License-Identifier: GPL-2.0-only
/*
 * Modes and owners of pipes and sockets, which have no name (fchmod(2), fchown(2)).  One pipe has been opened once more by
 * /proc and lets nobody in since: whoever restores it has to open it before.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MODES_FLAGS
#define MODES_FLAGS 0
#endif

enum { READER, WRITER, SHUT, SHUT_WRITER, SHUT_AGAIN, PLAIN, PLAIN_WRITER, LEFT, RIGHT, DATAGRAM, UDP, TCP, LISTENING, FILES };

static const char *const names[FILES] = {
	"reading end of a pipe", "writing end of a pipe", "pipe of mode 0", "its writing end", "the same, opened by /proc",
	"pipe as it was made", "its writing end", "Unix socket", "its other end", "Unix datagram socket", "UDP socket",
	"TCP socket", "listening Unix socket"
};
static int fds[FILES];
static struct stat before[FILES];

/* What has an inode of its own, and one that is left alone. */
static bool is_changed(int file)
{
	return file != WRITER && file != SHUT_WRITER && file != SHUT_AGAIN && file != PLAIN && file != PLAIN_WRITER;
}

static void make_files(void)
{
	char name[40];

	CRT_SYS(pipe(&fds[READER]));
	CRT_SYS(pipe(&fds[SHUT]));
	CRT_SYS(pipe(&fds[PLAIN]));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fds[SHUT]);
	fds[SHUT_AGAIN] = (int)CRT_SYS(open(name, O_RDWR));
	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, &fds[LEFT]));
	fds[DATAGRAM] = (int)CRT_SYS(socket(AF_UNIX, SOCK_DGRAM, 0));
	fds[UDP] = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	fds[TCP] = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	fds[LISTENING] = (int)CRT_SYS(socket(AF_UNIX, SOCK_STREAM, 0));
	CRT_SYS(bind(fds[LISTENING], &(struct sockaddr){ .sa_family = AF_UNIX }, sizeof(sa_family_t)));
	CRT_SYS(listen(fds[LISTENING], 1));
}

static void setup(void)
{
	make_files();
	for (int i = 0; i < FILES; i++) {
		if (!is_changed(i))
			continue;
		if (MODES_FLAGS & CRT_ROOT)
			CRT_SYS(fchown(fds[i], (uid_t)(1100 + i), (gid_t)(2100 + i)));
		CRT_SYS(fchmod(fds[i], i == SHUT ? 0 : (mode_t)(0640 + i)));
	}
	for (int i = 0; i < FILES; i++)
		CRT_SYS(fstat(fds[i], &before[i]));
}

static void verify(void)
{
	struct stat now;

	for (int i = 0; i < FILES; i++) {
		CRT_SYS(fstat(fds[i], &now));
		crt_same(now.st_mode, before[i].st_mode, "%s: mode", names[i]);
		crt_same(now.st_uid, before[i].st_uid, "%s: owner", names[i]);
		crt_same(now.st_gid, before[i].st_gid, "%s: group", names[i]);
	}
}

const struct crt_test crt_test = {
	.text = "modes and owners of pipes and sockets",
	.setup = setup,
	.verify = verify,
	.flags = MODES_FLAGS,
};
