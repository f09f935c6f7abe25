// SPDX-License-Identifier: GPL-2.0-only
/* What has been removed while it was open: watched by inotify, and known by an O_PATH descriptor. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static int fd, file, dir, other, path_fd, wd_file, wd_dir, wd_other;

static void drop_events(void)
{
	char events[4096];

	while (read(fd, events, sizeof(events)) > 0)
		;
}

static int watch(const char *path, uint32_t mask)
{
	return (int)CRT_SYS(inotify_add_watch(fd, path, mask));
}

static void setup(void)
{
	char name[64];

	fd = (int)CRT_SYS(inotify_init1(IN_NONBLOCK));
	file = (int)CRT_SYS(open(crt_path("file"), O_RDWR | O_CREAT, 0600));
	other = (int)CRT_SYS(open(crt_path("other"), O_RDWR | O_CREAT, 0600));
	CRT_SYS(mkdir(crt_path("dir"), 0700));
	dir = (int)CRT_SYS(open(crt_path("dir"), O_RDONLY | O_DIRECTORY));
	path_fd = (int)CRT_SYS(open(crt_path("other"), O_PATH));
	CRT_SYS(write(other, "some text", 9));
	wd_file = watch(crt_path("file"), IN_MODIFY);
	wd_dir = watch(crt_path("dir"), IN_ATTRIB);
	wd_other = watch(crt_path("other"), IN_MODIFY | IN_ATTRIB);
	CRT_SYS(unlink(crt_path("file")));
	CRT_SYS(unlink(crt_path("other")));
	CRT_SYS(rmdir(crt_path("dir")));
	close(other);
	/* Somebody else has the name now. */
	CRT_SYS(close((int)CRT_SYS(open(crt_path("file"), O_RDWR | O_CREAT, 0600))));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	other = (int)CRT_SYS(open(name, O_RDWR));
	drop_events();
}

/* The next one is of @wd, and has @mask. */
static bool next_event(int wd, uint32_t mask)
{
	struct inotify_event event;

	return read(fd, &event, sizeof(event)) == sizeof(event) && event.wd == wd && event.mask & mask;
}

static void verify(void)
{
	struct stat a, b;
	char name[64], text[16] = "";
	struct inotify_event event;
	int again;

	crt_same(read(fd, &event, sizeof(event)), -1, "nothing has happened to what is watched");
	CRT_SYS(pwrite(file, "x", 1, 0));
	crt_ok(next_event(wd_file, IN_MODIFY), "a removed file is watched");
	CRT_SYS(fchmod(dir, 0750));
	crt_ok(next_event(wd_dir, IN_ATTRIB), "a removed directory is watched");
	CRT_SYS(fchmod(dir, 0700));
	crt_ok(next_event(wd_dir, IN_ATTRIB), "and once more");
	CRT_SYS(fstat(path_fd, &a));
	CRT_SYS(fstat(other, &b));
	crt_same((long long)a.st_ino, (long long)b.st_ino, "an O_PATH descriptor of a removed file is that of the file");
	crt_same((long long)a.st_nlink, 0, "which has no name");
	crt_ok(fcntl(path_fd, F_GETFL) & O_PATH, "it is one");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	again = (int)CRT_SYS(open(name, O_RDWR));
	CRT_SYS(pread(again, text, 9, 0));
	crt_same_str(text, "some text", "the file can be opened by it, and has its contents");
	CRT_SYS(pwrite(again, "S", 1, 0));
	crt_ok(next_event(wd_other, IN_MODIFY), "it is watched");
	CRT_SYS(pwrite(again, "s", 1, 0));
	close(again);
}

const struct crt_test crt_test = {
	.text = "inotify watches and O_PATH descriptors of what has been removed",
	.setup = setup,
	.verify = verify,
};
