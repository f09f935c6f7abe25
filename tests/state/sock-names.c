// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unix sockets whose names in the file system are not what they were bound to: renamed since, with another mode, taken by a later
 * socket or by a file; and calls that wait at a relative name.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { RENAMED, MOVED, STREAM_OLD, STREAM_NEW, DGRAM_OLD, DGRAM_NEW, TAKEN, WAITED, ABSOLUTE_OLD, ABSOLUTE_NEW, TAKEN_FIFO, TAKEN_FILE, RENAMED_TAKEN, SOCKETS };
static int fd[SOCKETS], peer[SOCKETS], file, fifo;
static char bound[SOCKETS][sizeof(((struct sockaddr_un *)0)->sun_path)];

static struct sockaddr_un address(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	CRT_SYS(-(strlen(path) >= sizeof(un.sun_path)));
	memcpy(un.sun_path, path, strlen(path) + 1);
	return un;
}

static int connected(int type, const char *path)
{
	struct sockaddr_un un = address(path);
	int new = (int)CRT_SYS(socket(AF_UNIX, type, 0));

	CRT_SYS(connect(new, (struct sockaddr *)&un, sizeof(un)));
	return new;
}

static void make(int i, int type, const char *path, mode_t mode)
{
	struct sockaddr_un un = address(path);

	strcpy(bound[i], path);
	fd[i] = (int)CRT_SYS(socket(AF_UNIX, type, 0));
	CRT_SYS(bind(fd[i], (struct sockaddr *)&un, sizeof(un)));
	if (type != SOCK_DGRAM)
		CRT_SYS(listen(fd[i], 5));
	CRT_SYS(chmod(path, mode));
	peer[i] = connected(type, path);
	CRT_SYS(write(peer[i], &i, sizeof(i)));
}

static void setup(void)
{
	CRT_SYS(chdir(crt_dir()));
	CRT_SYS(mkdir("sub", 0755));
	make(RENAMED, SOCK_STREAM, crt_path("renamed.tmp"), 0600);
	CRT_SYS(rename("renamed.tmp", "renamed"));
	make(MOVED, SOCK_SEQPACKET, "./moved.tmp", 0666);
	CRT_SYS(rename("moved.tmp", "sub/moved"));
	make(STREAM_OLD, SOCK_STREAM, "stream", 0600);
	CRT_SYS(unlink("stream"));
	make(STREAM_NEW, SOCK_STREAM, "stream", 0640);
	make(DGRAM_OLD, SOCK_DGRAM, "dgram", 0600);
	CRT_SYS(unlink("dgram"));
	make(DGRAM_NEW, SOCK_DGRAM, "dgram", 0620);
	make(TAKEN, SOCK_STREAM, "sub/../taken", 0600);
	CRT_SYS(unlink("taken"));
	file = (int)CRT_SYS(open("taken", O_RDWR | O_CREAT | O_EXCL, 0600));
	CRT_SYS(write(file, "a file", 6));
	make(WAITED, SOCK_STREAM, "sub/waited", 0700);
	make(ABSOLUTE_OLD, SOCK_STREAM, crt_path("absolute"), 0600);
	CRT_SYS(unlink("absolute"));
	make(ABSOLUTE_NEW, SOCK_STREAM, crt_path("absolute"), 0604);
	make(TAKEN_FIFO, SOCK_DGRAM, crt_path("taken fifo"), 0600);
	CRT_SYS(unlink("taken fifo"));
	CRT_SYS(mkfifo("taken fifo", 0600));
	fifo = (int)CRT_SYS(open("taken fifo", O_RDWR));
	CRT_SYS(write(fifo, "a FIFO", 6));
	make(TAKEN_FILE, SOCK_STREAM, crt_path("taken file"), 0600);
	CRT_SYS(unlink("taken file"));
	crt_make_file("taken file", 1, 1);
	make(RENAMED_TAKEN, SOCK_SEQPACKET, crt_path("once"), 0611);
	CRT_SYS(rename("once", "now"));
	crt_make_file("once", 1, 1);
	CRT_SYS(chdir("/"));
}

static void check_name(int i)
{
	struct sockaddr_un un = {};
	socklen_t len = sizeof(un);

	CRT_SYS(getsockname(fd[i], (struct sockaddr *)&un, &len));
	crt_same_str(un.sun_path, bound[i], "socket %d: its address", i);
}

static void check_mode(const char *name, mode_t mode)
{
	struct stat st;

	CRT_SYS(stat(crt_path(name), &st));
	crt_ok(S_ISSOCK(st.st_mode) && (st.st_mode & 07777) == mode && st.st_uid == getuid(), "%s: mode %o, was %o", name,
	       st.st_mode & 07777, mode);
}

/* What waits for it came from its own peer. */
static void check_call(int i)
{
	bool stream = i != DGRAM_OLD && i != DGRAM_NEW && i != TAKEN_FIFO;
	int accepted = stream ? (int)CRT_SYS(accept(fd[i], NULL, NULL)) : fd[i], number = -1;

	CRT_SYS(read(accepted, &number, sizeof(number)));
	crt_same(number, i, "socket %d: who has called it", i);
	CRT_SYS(write(peer[i], &i, sizeof(i)));
	CRT_SYS(read(accepted, &number, sizeof(number)));
	crt_same(number, i, "and still does");
}

static void check_new_call(int i, int type, const char *name)
{
	struct pollfd event = { .fd = fd[i], .events = POLLIN };
	int caller = connected(type, crt_path(name));

	CRT_SYS(write(caller, "x", 1));
	crt_same(poll(&event, 1, 1000), 1, "a new call of %s comes to it", name);
	CRT_SYS(close(caller));
}

static void verify(void)
{
	char buf[8] = "";
	struct stat st;

	for (int i = 0; i < SOCKETS; i++) {
		check_name(i);
		check_call(i);
	}
	check_mode("renamed", 0600);
	check_mode("sub/moved", 0666);
	check_mode("stream", 0640);
	check_mode("dgram", 0620);
	check_mode("sub/waited", 0700);
	check_mode("absolute", 0604);
	check_new_call(RENAMED, SOCK_STREAM, "renamed");
	check_new_call(MOVED, SOCK_SEQPACKET, "sub/moved");
	check_new_call(STREAM_NEW, SOCK_STREAM, "stream");
	check_new_call(DGRAM_NEW, SOCK_DGRAM, "dgram");
	check_new_call(ABSOLUTE_NEW, SOCK_STREAM, "absolute");
	crt_ok(stat(crt_path("renamed.tmp"), &st) && stat(crt_path("moved.tmp"), &st), "the names before are not there");
	crt_ok(!stat(crt_path("taken"), &st) && S_ISREG(st.st_mode), "the file that has a socket's name still has it");
	crt_same(pread(file, buf, sizeof(buf), 0), 6, "and is open");
	check_mode("now", 0611);
	check_new_call(RENAMED_TAKEN, SOCK_SEQPACKET, "now");
	crt_ok(!stat(crt_path("once"), &st) && S_ISREG(st.st_mode), "a file has the name before it was renamed");
	crt_ok(!stat(crt_path("taken file"), &st) && S_ISREG(st.st_mode), "one has a removed socket's absolute name");
	crt_ok(!stat(crt_path("taken fifo"), &st) && S_ISFIFO(st.st_mode), "a FIFO has another one's");
	crt_same(read(fifo, buf, sizeof(buf)), 6, "and is open");
}

const struct crt_test crt_test = {
	.text = "Unix sockets are found where their files are, with their modes, and have the addresses that they were bound to",
	.setup = setup,
	.verify = verify,
};
