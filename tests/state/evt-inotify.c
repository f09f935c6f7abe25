// SPDX-License-Identifier: GPL-2.0-only
/* inotify: watches with their numbers and masks, on several file systems, and the next number. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define WATCHES 16

static int fd, set, dir, file, once, shm, root;
static char lines[WATCHES][256];
static int nr_lines;

static int watch(const char *path, uint32_t mask)
{
	return (int)CRT_SYS(inotify_add_watch(fd, path, mask));
}

/* The number is used up. */
static void skip(void)
{
	char buf[4096];

	CRT_SYS(inotify_rm_watch(fd, watch("/usr", IN_CREATE)));
	CRT_SYS(read(fd, buf, sizeof(buf)));
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Number, inode, device and mask of each watch. */
static int watches(char (*to)[256])
{
	char path[64], text[16384], *line, *rest = text;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	crt_slurp(path, text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, "inotify wd:", 11) && n < WATCHES)
			snprintf(to[n++], sizeof(to[0]), "%.*s", (int)(strstr(line, " ignored") - line), line);
	qsort(to, n, sizeof(to[0]), compare);
	return n;
}

static void setup(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	CRT_SYS(mkdir(crt_path("a place"), 0755));
	crt_make_file("a place/file", 10, 1);
	fd = (int)CRT_SYS(inotify_init1(IN_NONBLOCK));
	for (int i = 0; i < 5; i++)
		skip();
	dir = watch(crt_path("a place"), IN_CREATE | IN_DELETE | IN_EXCL_UNLINK | IN_ONLYDIR);
	skip();
	file = watch(crt_path("a place/file"), IN_MODIFY | IN_CLOSE_WRITE);
	once = watch(crt_make_file("once", 10, 1), IN_ATTRIB | IN_ONESHOT);
	root = watch("/", IN_MOVE_SELF);
	shm = watch("/dev/shm", IN_MOVE_SELF);
	for (int i = 0; i < 3; i++)
		skip();
	set = (int)CRT_SYS(epoll_create1(0));
	CRT_SYS(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
	nr_lines = watches(lines);
	if (nr_lines != 5)
		crt_die("fdinfo tells of %d watches", nr_lines);
}

static char queue[4096];
static ssize_t queue_len, queue_pos;

/* The next event: its watch and mask; name. */
static bool next_event(int wd, uint32_t mask, const char *name)
{
	struct inotify_event event;
	const char *its_name;

	if (queue_pos >= queue_len) {
		queue_len = read(fd, queue, sizeof(queue));
		queue_pos = 0;
	}
	if (queue_pos >= queue_len)
		return false;
	memcpy(&event, queue + queue_pos, sizeof(event));
	its_name = event.len ? queue + queue_pos + sizeof(event) : "";
	queue_pos += sizeof(event) + event.len;
	if (event.wd != wd || event.mask != mask)
		crt_diag("event %x of watch %d", event.mask, event.wd);
	return event.wd == wd && event.mask == mask && !strcmp(its_name, name);
}

static bool quiet(void)
{
	struct epoll_event event;
	char buf[4096];

	return queue_pos >= queue_len && epoll_wait(set, &event, 1, 0) == 0 && read(fd, buf, sizeof(buf)) == -1 && errno == EAGAIN;
}

static void verify(void)
{
	static char now[WATCHES][256];
	struct epoll_event event;
	int n = watches(now), out;

	crt_same(n, nr_lines, "as many watches");
	for (int i = 0; i < n && i < nr_lines; i++)
		crt_same_str(now[i], lines[i], "watch %d", i);
	crt_ok(quiet(), "no event that was not caused");
	out = (int)CRT_SYS(open(crt_path("a place/new"), O_CREAT | O_WRONLY, 0600));
	close(out);
	crt_same(epoll_wait(set, &event, 1, 10000), 1, "epoll tells of an event");
	crt_ok(next_event(dir, IN_CREATE, "new"), "a file was created in the directory");
	unlink(crt_path("a place/new"));
	crt_ok(next_event(dir, IN_DELETE, "new"), "and deleted");
	out = (int)CRT_SYS(open(crt_path("a place/file"), O_WRONLY));
	CRT_SYS(write(out, "x", 1));
	close(out);
	crt_ok(next_event(file, IN_MODIFY, ""), "a file was written to");
	crt_ok(next_event(file, IN_CLOSE_WRITE, ""), "and closed");
	chmod(crt_path("once"), 0600);
	chmod(crt_path("once"), 0644);
	crt_ok(next_event(once, IN_ATTRIB, "") && next_event(once, IN_IGNORED, ""), "a watch for one event");
	crt_ok(quiet(), "no more events");
	crt_same(inotify_add_watch(fd, crt_path("once"), IN_ATTRIB), shm + 4, "the next watch has the next number");
}

const struct crt_test crt_test = {
	.text = "inotify",
	.setup = setup,
	.verify = verify,
};
