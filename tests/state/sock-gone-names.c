// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unix datagrams that wait, from senders that had names in the file system and have been closed: recvfrom(2) still tells their
 * names, and what has them now is left alone.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { LEFT, REMOVED, TAKEN, RELATIVE, NO_DIRECTORY, UP, SENDERS };

static const char *const names[SENDERS] = { "left", "removed", "taken", "sub/../relative", "gone/sender",
					     "sub/../up" };
static char bound[SENDERS][sizeof(((struct sockaddr_un *)0)->sun_path)];
static struct stat left;
static int receiver;

static struct sockaddr_un address(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	CRT_SYS(-(strlen(path) >= sizeof(un.sun_path)));
	memcpy(un.sun_path, path, strlen(path) + 1);
	return un;
}

static int bound_to(const char *path)
{
	struct sockaddr_un un = address(path);
	int fd = (int)CRT_SYS(socket(AF_UNIX, SOCK_DGRAM, 0));

	CRT_SYS(bind(fd, (struct sockaddr *)&un, sizeof(un)));
	return fd;
}

static void send_from(int i, const struct sockaddr_un *to)
{
	int fd;

	strcpy(bound[i], i == RELATIVE ? names[i] : crt_path(names[i]));
	fd = bound_to(bound[i]);
	CRT_SYS(sendto(fd, &i, sizeof(i), 0, (const struct sockaddr *)to, sizeof(*to)));
	CRT_SYS(close(fd));
}

static void setup(void)
{
	struct sockaddr_un to = address(crt_path("receiver"));

	CRT_SYS(chdir(crt_dir()));
	CRT_SYS(mkdir("sub", 0755));
	CRT_SYS(mkdir("gone", 0755));
	receiver = bound_to(to.sun_path);
	for (int i = 0; i < SENDERS; i++)
		send_from(i, &to);
	CRT_SYS(unlink("removed"));
	CRT_SYS(unlink("taken"));
	CRT_SYS(unlink("gone/sender"));
	CRT_SYS(rmdir("gone"));
	crt_make_file("taken", 1, 1);
	CRT_SYS(stat("left", &left));
	CRT_SYS(chdir("/"));
}

static void verify(void)
{
	struct stat st;

	for (int i = 0; i < SENDERS; i++) {
		struct sockaddr_un from = {};
		socklen_t len = sizeof(from);
		int number = -1;

		CRT_SYS(recvfrom(receiver, &number, sizeof(number), MSG_DONTWAIT, (struct sockaddr *)&from, &len));
		crt_same(number, i, "datagram %d", i);
		crt_same_str(len > sizeof(sa_family_t) ? from.sun_path : "", bound[i], "%s: the sender's name", names[i]);
	}
	crt_ok(!stat(crt_path("left"), &st) && st.st_ino == left.st_ino && st.st_mode == left.st_mode, "the socket that was left is there");
	crt_ok(stat(crt_path("removed"), &st) && stat(crt_path("gone"), &st), "what was removed is not");
	crt_ok(!stat(crt_path("taken"), &st) && S_ISREG(st.st_mode), "a file still has the name that it has taken");
}

const struct crt_test crt_test = {
	.text = "waiting datagrams tell the names of their senders, which are gone",
	.setup = setup,
	.verify = verify,
};
