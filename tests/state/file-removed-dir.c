// SPDX-License-Identifier: GPL-2.0-only
/* Directories that have been removed: the working directory, open ones, one with all above it. */
#define _GNU_SOURCE
#include "crtest.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST, SECOND, DEEP, BY_PATH, FDS };
static int fd[FDS];
static char link_of[FDS][600], cwd[600];
static int flags_of[FDS];

static void read_link(const char *name, char *buf, size_t size)
{
	ssize_t n = CRT_SYS(readlink(name, buf, size - 1));

	buf[n] = 0;
}

static void fd_link(int number, char *buf, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", number);
	read_link(name, buf, size);
}

static void setup(void)
{
	CRT_SYS(mkdir(crt_path("open"), 0710));
	fd[FIRST] = (int)CRT_SYS(open(crt_path("open"), O_RDONLY | O_DIRECTORY));
	fd[SECOND] = (int)CRT_SYS(open(crt_path("open"), O_RDONLY | O_NONBLOCK));
	CRT_SYS(rmdir(crt_path("open")));
	CRT_SYS(mkdir(crt_path("a"), 0700));
	CRT_SYS(mkdir(crt_path("a/b"), 0700));
	CRT_SYS(mkdir(crt_path("a/b/c"), 0700));
	fd[DEEP] = (int)CRT_SYS(open(crt_path("a/b/c"), O_RDONLY | O_DIRECTORY));
	fd[BY_PATH] = (int)CRT_SYS(open(crt_path("a/b/c"), O_PATH));
	CRT_SYS(rmdir(crt_path("a/b/c")));
	CRT_SYS(rmdir(crt_path("a/b")));
	CRT_SYS(rmdir(crt_path("a")));
	CRT_SYS(mkdir(crt_path("gone"), 0700));
	CRT_SYS(chdir(crt_path("gone")));
	CRT_SYS(rmdir(crt_path("gone")));
	for (int i = 0; i < FDS; i++) {
		fd_link(fd[i], link_of[i], sizeof(link_of[i]));
		flags_of[i] = fcntl(fd[i], F_GETFL);
	}
	read_link("/proc/self/cwd", cwd, sizeof(cwd));
}

static void verify(void)
{
	struct stat first, st;
	char now[600], buf[1024];

	CRT_SYS(fstat(fd[FIRST], &first));
	for (int i = 0; i < FDS; i++) {
		fd_link(fd[i], now, sizeof(now));
		crt_same_str(now, link_of[i], "the name of directory %d", i);
		crt_ok(!fstat(fd[i], &st) && S_ISDIR(st.st_mode) && st.st_nlink == 0, "is removed");
		crt_same(fcntl(fd[i], F_GETFL), flags_of[i], "its flags");
	}
	crt_same(first.st_mode & 07777, 0710, "its mode");
	crt_ok(!fstat(fd[SECOND], &st) && st.st_ino == first.st_ino && st.st_dev == first.st_dev,
	       "two descriptors of one directory");
	crt_ok(getdents64(fd[DEEP], buf, sizeof(buf)) <= 0, "nothing is in it");
	crt_ok(openat(fd[FIRST], "new", O_CREAT | O_WRONLY, 0600) == -1 && errno == ENOENT,
	       "nothing can be made in it");
	read_link("/proc/self/cwd", now, sizeof(now));
	crt_same_str(now, cwd, "the working directory");
	crt_ok(!getcwd(now, sizeof(now)) && errno == ENOENT, "has no name");
	crt_ok(!stat(".", &st) && st.st_nlink == 0 && st.st_uid == geteuid(), "and is there");
	for (const char *const *name = (const char *const[]){ "open", "a", "gone", NULL }; *name; name++)
		crt_ok(access(crt_path(*name), F_OK) && errno == ENOENT, "%s has not come back", *name);
}

const struct crt_test crt_test = {
	.text = "removed directories stay what they are",
	.setup = setup,
	.verify = verify,
};
