// SPDX-License-Identifier: GPL-2.0-only
/*
 * What processes know of each other: SO_PEERCRED of connections between them, of those that nobody has
 * accepted yet, and of a listening socket, also when the process has ended; and a removed directory that several are in.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int listener, accepted, pair[2], link_to_child[2], gone_pair[2], gone_listener, to_gone;
static struct sockaddr_un name = { .sun_family = AF_UNIX };
static socklen_t name_len;
static pid_t child, gone;
static struct stat there;

static int call(void)
{
	int fd = (int)CRT_SYS(socket(AF_UNIX, SOCK_STREAM, 0));

	CRT_SYS(connect(fd, (struct sockaddr *)&name, name_len));
	return fd;
}

static struct ucred peer_of(int fd)
{
	struct ucred peer = { -1, (uid_t)-1, (gid_t)-1 };
	socklen_t len = sizeof(peer);

	CRT_SYS(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len));
	return peer;
}

static void child_main(void)
{
	int first = call(), second = call();
	struct stat now;
	char what;

	CRT_SYS(write(link_to_child[1], "r", 1));
	while (read(link_to_child[1], &what, 1) == 1) {
		pid_t answer = -1;

		if (what == 'f')
			answer = peer_of(first).pid;
		if (what == 's')
			answer = peer_of(second).pid;
		if (what == 'd' && !stat(".", &now))
			answer = (pid_t)now.st_ino;
		if (what == 'm' && !chmod("/proc/self/cwd", 0710))
			answer = 0;
		CRT_SYS(write(link_to_child[1], &answer, sizeof(answer)));
	}
	_exit(0);
}

static void pass(int by, int fd)
{
	union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } room = {};
	struct iovec data = { "x", 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = room.bytes,
				  .msg_controllen = sizeof(room.bytes) };
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &fd, sizeof(int));
	CRT_SYS(sendmsg(by, &message, 0));
}

static int take(int by)
{
	union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } room = {};
	char byte;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = room.bytes,
				  .msg_controllen = sizeof(room.bytes) };
	int fd = -1;

	CRT_SYS(recvmsg(by, &message, 0));
	if (CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return fd;
}

/* What it has made is left to its parent; nobody has its number any more. */
static void gone_main(int by)
{
	struct sockaddr_un own = { .sun_family = AF_UNIX };
	int ends[2], fd = (int)CRT_SYS(socket(AF_UNIX, SOCK_STREAM, 0));
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				    (size_t)snprintf(own.sun_path + 1, 64, "tree-peers-gone-%d", getppid()));

	CRT_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	pass(by, ends[0]);
	pass(by, ends[1]);
	CRT_SYS(bind(fd, (struct sockaddr *)&own, len));
	CRT_SYS(listen(fd, 5));
	pass(by, fd);
	fd = (int)CRT_SYS(socket(AF_UNIX, SOCK_STREAM, 0));
	CRT_SYS(connect(fd, (struct sockaddr *)&own, len));
	pass(by, fd);
	CRT_SYS(connect((int)CRT_SYS(socket(AF_UNIX, SOCK_STREAM, 0)), (struct sockaddr *)&own, len));
	_exit(0);
}

static void make_gone(void)
{
	int way[2];

	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, way));
	gone = (pid_t)CRT_SYS(fork());
	if (!gone)
		gone_main(way[1]);
	gone_pair[0] = take(way[0]);
	gone_pair[1] = take(way[0]);
	gone_listener = take(way[0]);
	to_gone = take(way[0]);
	CRT_SYS(waitpid(gone, NULL, 0));
	CRT_SYS(close(way[0]));
	CRT_SYS(close(way[1]));
}

static pid_t ask(char what)
{
	pid_t answer = -2;

	CRT_SYS(write(link_to_child[0], &what, 1));
	CRT_SYS(read(link_to_child[0], &answer, sizeof(answer)));
	return answer;
}

static void setup(void)
{
	char c;

	CRT_SYS(mkdir(crt_path("removed"), 0755));
	CRT_SYS(chdir(crt_path("removed")));
	CRT_SYS(chmod(".", 0751));
	CRT_SYS(rmdir(crt_path("removed")));
	name_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			       (size_t)snprintf(name.sun_path + 1, 64, "tree-peers-%d", getpid()));
	listener = (int)CRT_SYS(socket(AF_UNIX, SOCK_STREAM, 0));
	CRT_SYS(bind(listener, (struct sockaddr *)&name, name_len));
	CRT_SYS(listen(listener, 5));
	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CRT_SYS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, link_to_child));
	child = (pid_t)CRT_SYS(fork());
	if (!child) {
		close(link_to_child[0]);
		child_main();
	}
	CRT_SYS(close(link_to_child[1]));
	CRT_SYS(read(link_to_child[0], &c, 1));
	accepted = (int)CRT_SYS(accept(listener, NULL, NULL));
	CRT_SYS(stat(".", &there));
	make_gone();
}

static void verify_gone(void)
{
	int fd = (int)CRT_SYS(accept(gone_listener, NULL, NULL));

	crt_same(peer_of(gone_pair[0]).pid, gone, "who had made a pair, and has ended");
	crt_same(peer_of(gone_pair[1]).pid, gone, "both ends of it");
	crt_same(peer_of(to_gone).pid, gone, "who had listened");
	crt_same(peer_of(fd).pid, gone, "who had called");
	CRT_SYS(close(fd));
	fd = (int)CRT_SYS(accept(gone_listener, NULL, NULL));
	crt_ok(peer_of(fd).pid == gone || !peer_of(fd).pid, "who had called and closed, or nobody");
	CRT_SYS(close(fd));
}

static void verify_peers(void)
{
	struct ucred peer = peer_of(accepted);
	int second = (int)CRT_SYS(accept(listener, NULL, NULL)), third = call(), fourth;

	crt_same(peer.pid, child, "who has connected");
	crt_ok(peer.uid == geteuid() && peer.gid == getegid(), "as which user and group");
	crt_same(ask('f'), getpid(), "to whom");
	crt_same(peer_of(pair[0]).pid, getpid(), "who has made a pair");
	crt_same(peer_of(pair[1]).pid, getpid(), "both ends of it");
	crt_same(peer_of(second).pid, child, "who has not been accepted before");
	crt_same(ask('s'), getpid(), "and at whose socket");
	crt_same(peer_of(third).pid, getpid(), "who listens, for those that come later");
	fourth = (int)CRT_SYS(accept(listener, NULL, NULL));
	crt_same(peer_of(fourth).pid, getpid(), "who has come later");
	close(fourth);
	close(third);
	close(second);
}

static void verify_directory(void)
{
	struct stat now;

	CRT_SYS(stat(".", &now));
	crt_same(now.st_nlink, there.st_nlink, "the working directory has been removed");
	crt_same(now.st_mode, there.st_mode, "with its mode");
	crt_same((pid_t)now.st_ino, ask('d'), "it is the child's too");
	crt_same(ask('m'), 0, "which changes its mode");
	CRT_SYS(stat(".", &now));
	crt_same(now.st_mode & 07777, 0710, "for both");
}

static void verify(void)
{
	verify_peers();
	verify_gone();
	verify_directory();
	CRT_SYS(close(link_to_child[0]));
	CRT_SYS(waitpid(child, NULL, 0));
}

const struct crt_test crt_test = {
	.text = "who is at the other end; and a removed directory that two processes are in",
	.setup = setup,
	.verify = verify,
};
