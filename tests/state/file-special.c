// SPDX-License-Identifier: GPL-2.0-only
/* O_PATH descriptors of all types of file, O_TMPFILE, and files of /proc and /sys. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { REGULAR, DIRECTORY, FIFO, SOCKET, LINK, DEVICE, PATHS };
static int path_fd[PATHS];
static struct stat path_stat[PATHS];
static int nameless, proc_file, sys_file;
static char cpus[4096];

static void make_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = (int)CRT_SYS(socket(AF_UNIX, SOCK_STREAM, 0));

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	CRT_SYS(bind(fd, (struct sockaddr *)&address, sizeof(address)));
	close(fd);
}

static void setup(void)
{
	path_fd[REGULAR] = (int)CRT_SYS(open(crt_make_file("regular", 100, 1), O_PATH));
	path_fd[DIRECTORY] = (int)CRT_SYS(open(crt_dir(), O_PATH | O_DIRECTORY));
	CRT_SYS(mkfifo(crt_path("fifo"), 0600));
	path_fd[FIFO] = (int)CRT_SYS(open(crt_path("fifo"), O_PATH));
	make_socket(crt_path("socket"));
	path_fd[SOCKET] = (int)CRT_SYS(open(crt_path("socket"), O_PATH));
	CRT_SYS(symlink("nowhere", crt_path("link")));
	path_fd[LINK] = (int)CRT_SYS(open(crt_path("link"), O_PATH | O_NOFOLLOW));
	path_fd[DEVICE] = (int)CRT_SYS(open("/dev/ptmx", O_PATH));
	for (int i = 0; i < PATHS; i++)
		CRT_SYS(fstat(path_fd[i], &path_stat[i]));

	nameless = (int)CRT_SYS(open(crt_dir(), O_TMPFILE | O_RDWR, 0640));
	CRT_SYS(write(nameless, "without a name", 14));
	CRT_SYS(lseek(nameless, 8, SEEK_SET));
	proc_file = (int)CRT_SYS(open("/proc/sys/kernel/ostype", O_RDONLY));
	CRT_SYS(lseek(proc_file, 2, SEEK_SET));
	sys_file = (int)CRT_SYS(open("/sys/devices/system/cpu/possible", O_RDONLY));
	CRT_SYS(read(sys_file, cpus, sizeof(cpus) - 1));
}

static void verify(void)
{
	static const char *const types[] = { "file", "directory", "FIFO", "socket", "symbolic link", "device" };
	char buf[4096] = "";
	struct stat st;

	for (int i = 0; i < PATHS; i++) {
		crt_ok(fcntl(path_fd[i], F_GETFL) & O_PATH, "O_PATH of a %s", types[i]);
		crt_ok(!fstat(path_fd[i], &st) && st.st_ino == path_stat[i].st_ino &&
		       st.st_mode == path_stat[i].st_mode, "is that %s", types[i]);
	}
	crt_ok(readlinkat(path_fd[LINK], "", buf, sizeof(buf)) == 7 && !memcmp(buf, "nowhere", 7),
	       "the link leads to where it did");
	memset(buf, 0, sizeof(buf));
	crt_ok(read(nameless, buf, 20) == 6 && !memcmp(buf, "a name", 6), "a file without a name (%s)", buf);
	CRT_SYS(lseek(nameless, 8, SEEK_SET));
	crt_ok(!fstat(nameless, &st) && st.st_nlink == 0 && (st.st_mode & 07777) == 0640, "is one still");
	crt_ok(read(proc_file, buf, 20) == 4 && !memcmp(buf, "nux\n", 4), "a file of /proc, at its offset");
	CRT_SYS(lseek(proc_file, 2, SEEK_SET));
	crt_same(read(sys_file, buf, 20), 0, "a file of /sys, at its end");
	CRT_SYS(lseek(sys_file, 0, SEEK_SET));
	memset(buf, 0, sizeof(buf));
	CRT_SYS(read(sys_file, buf, sizeof(buf) - 1));
	crt_same_str(buf, cpus, "and what it says");
}

const struct crt_test crt_test = {
	.text = "O_PATH, O_TMPFILE, /proc and /sys",
	.setup = setup,
	.verify = verify,
};
