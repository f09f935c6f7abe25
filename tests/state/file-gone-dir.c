// SPDX-License-Identifier: GPL-2.0-only
/* What has lost its name together with the directory: files, FIFOs and sockets, by absolute and by relative names. */
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

#define SIZE 70001

enum { FIFO, DATA, LISTENER, RELATIVE, CLIENT, SERVER, DATAGRAM, FDS };
static const char *const what[FDS] = { "FIFO", "file", "listening socket", "one with a relative name", "client",
				       "accepted socket", "datagram socket" };
static int fd[FDS], fifo_writer, sender;
static char link_of[FDS][600];
static char deep[512];

static const char *in_deep(const char *name)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/%s", deep, name);
	return path;
}

static struct sockaddr_un address(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	CRT_SYS(-(strlen(path) >= sizeof(un.sun_path)));
	memcpy(un.sun_path, path, strlen(path) + 1);
	return un;
}

static int bound(int type, const char *path)
{
	struct sockaddr_un un = address(path);
	int new = (int)CRT_SYS(socket(AF_UNIX, type, 0));

	CRT_SYS(bind(new, (struct sockaddr *)&un, sizeof(un)));
	return new;
}

static int connected(int type, const char *path)
{
	struct sockaddr_un un = address(path);
	int new = (int)CRT_SYS(socket(AF_UNIX, type, 0));

	CRT_SYS(connect(new, (struct sockaddr *)&un, sizeof(un)));
	return new;
}

static void fd_link(int number, char *buf, size_t size)
{
	char name[64];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", number);
	n = CRT_SYS(readlink(name, buf, size - 1));
	buf[n] = 0;
}

static void setup_files(void)
{
	static char buf[SIZE];

	CRT_SYS(mkfifo(in_deep("fifo"), 0640));
	fd[FIFO] = (int)CRT_SYS(open(in_deep("fifo"), O_RDONLY | O_NONBLOCK));
	fifo_writer = (int)CRT_SYS(open(in_deep("fifo"), O_WRONLY));
	CRT_SYS(write(fifo_writer, "no name", 7));
	fd[DATA] = (int)CRT_SYS(open(in_deep("data"), O_RDWR | O_CREAT, 0640));
	crt_fill(buf, SIZE, 5);
	CRT_SYS(write(fd[DATA], buf, SIZE));
}

static void setup_sockets(void)
{
	fd[LISTENER] = bound(SOCK_STREAM, in_deep("listener"));
	CRT_SYS(listen(fd[LISTENER], 5));
	fd[CLIENT] = connected(SOCK_STREAM, in_deep("listener"));
	fd[SERVER] = (int)CRT_SYS(accept(fd[LISTENER], NULL, NULL));
	CRT_SYS(write(fd[CLIENT], "to the server", 13));
	fd[DATAGRAM] = bound(SOCK_DGRAM, in_deep("datagram"));
	sender = connected(SOCK_DGRAM, in_deep("datagram"));
	CRT_SYS(write(sender, "datagram", 8));
	CRT_SYS(chdir(deep));
	fd[RELATIVE] = bound(SOCK_STREAM, "relative");
	CRT_SYS(listen(fd[RELATIVE], 5));
	CRT_SYS(chdir("/"));
}

static void setup(void)
{
	static const char *const names[] = { "fifo", "data", "listener", "datagram", "relative" };

	snprintf(deep, sizeof(deep), "%s", crt_path("a"));
	CRT_SYS(mkdir(deep, 0755));
	snprintf(deep, sizeof(deep), "%s", crt_path("a/b"));
	CRT_SYS(mkdir(deep, 0755));
	setup_files();
	setup_sockets();
	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++)
		CRT_SYS(unlink(in_deep(names[i])));
	CRT_SYS(rmdir(deep));
	CRT_SYS(rmdir(crt_path("a")));
	for (int i = 0; i < FDS; i++)
		fd_link(fd[i], link_of[i], sizeof(link_of[i]));
}

static void same_name(int i, const char *name)
{
	struct sockaddr_un un = {};
	socklen_t len = sizeof(un);

	CRT_SYS(getsockname(fd[i], (struct sockaddr *)&un, &len));
	crt_same_str(un.sun_path, name, "%s: its address", what[i]);
}

static void same_read(int i, const char *expected)
{
	char buf[64] = "";

	crt_same(read(fd[i], buf, sizeof(buf) - 1), (long long)strlen(expected), "%s: bytes", what[i]);
	crt_same_str(buf, expected, "are the ones");
}

static void verify_files(void)
{
	static char buf[SIZE];
	struct stat st, dir;
	char now[600];

	for (int i = FIFO; i <= DATA; i++) {
		fd_link(fd[i], now, sizeof(now));
		crt_same_str(now, link_of[i], "%s: the name that it had", what[i]);
		crt_ok(!fstat(fd[i], &st) && st.st_nlink == 0 && (st.st_mode & 07777) == 0640, "and has no more; its mode");
	}
	CRT_SYS(stat(crt_dir(), &dir));
	crt_ok(st.st_dev == dir.st_dev, "the file is in the same file system");
	crt_same(pread(fd[DATA], buf, SIZE, 0), SIZE, "its size");
	crt_same(crt_bad(buf, SIZE, 5), -1, "its contents");
	same_read(FIFO, "no name");
	CRT_SYS(close(fifo_writer));
	crt_same(read(fd[FIFO], buf, 1), 0, "and then its end");
}

static void verify(void)
{
	struct pollfd event = { .fd = fd[LISTENER], .events = POLLIN };

	verify_files();
	same_name(LISTENER, in_deep("listener"));
	same_name(SERVER, in_deep("listener"));
	same_name(DATAGRAM, in_deep("datagram"));
	same_name(RELATIVE, "relative");
	crt_same(poll(&event, 1, 0), 0, "nobody has called the one that listens");
	same_read(SERVER, "to the server");
	CRT_SYS(write(fd[SERVER], "to the client", 13));
	same_read(CLIENT, "to the client");
	same_read(DATAGRAM, "datagram");
	CRT_SYS(write(sender, "another", 7));
	same_read(DATAGRAM, "another");
	crt_ok(access(crt_path("a"), F_OK) && errno == ENOENT, "the directories have not come back");
}

const struct crt_test crt_test = {
	.text = "what has lost its name together with the directory",
	.setup = setup,
	.verify = verify,
};
