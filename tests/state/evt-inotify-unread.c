// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of inotify that nobody has read: with and without names, a move in its two halves, of watches that have gone, and
 * (overflow) that some have been lost.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int fd, set, dir, gone, queued;
static const char *const long_name = "a name that is longer than what an event without one takes, and than two of these, too";

static int watch(const char *path, uint32_t mask)
{
	return (int)CRT_SYS(inotify_add_watch(fd, path, mask));
}

static void setup_kinds(void)
{
	char from[300], to[300];

	CRT_SYS(mkdir(crt_path("place"), 0755));
	crt_make_file("gone", 1, 1);
	dir = watch(crt_path("place"), IN_CREATE | IN_MOVE | IN_ATTRIB);
	gone = watch(crt_path("gone"), IN_ATTRIB | IN_DELETE_SELF);
	snprintf(from, sizeof(from), "place/%s", long_name);
	crt_make_file(from, 1, 1);
	snprintf(from, sizeof(from), "%s", crt_path(from));
	snprintf(to, sizeof(to), "%s", crt_path("place/b"));
	CRT_SYS(rename(from, to));
	CRT_SYS(mkdir(crt_path("place/c"), 0755));
	CRT_SYS(chmod(crt_path("gone"), 0600));
	CRT_SYS(unlink(crt_path("gone")));
	CRT_SYS(chmod(crt_path("place"), 0700));
}

/* Two that are equal and follow each other would be one. */
static void setup_overflow(void)
{
	int a = (int)CRT_SYS(open(crt_make_file("a", 1, 1), O_RDONLY));
	int b = (int)CRT_SYS(open(crt_make_file("b", 1, 1), O_RDONLY));

	dir = watch(crt_path("a"), IN_ATTRIB);
	gone = watch(crt_path("b"), IN_ATTRIB);
	for (int i = 0; i < 10000; i++) {
		CRT_SYS(fchmod(a, 0600));
		CRT_SYS(fchmod(b, 0600));
	}
	close(a);
	close(b);
}

static void setup(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	fd = (int)CRT_SYS(inotify_init1(IN_NONBLOCK));
	if (crt_case)
		setup_overflow();
	else
		setup_kinds();
	set = (int)CRT_SYS(epoll_create1(0));
	CRT_SYS(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
	CRT_SYS(ioctl(fd, FIONREAD, &queued));
}

static char queue[4096];
static ssize_t queue_len, queue_pos;

static const struct inotify_event *next_event(void)
{
	static union {
		struct inotify_event head;
		char bytes[sizeof(struct inotify_event) + 256];
	} event;
	size_t size = sizeof(event.head);

	memset(&event, 0, sizeof(event));
	event.head.wd = -2;
	if (queue_pos >= queue_len) {
		queue_len = read(fd, queue, sizeof(queue));
		queue_pos = 0;
	}
	if (queue_pos >= queue_len)
		return &event.head;
	memcpy(&event.head, queue + queue_pos, size);
	size += event.head.len;
	if (size <= sizeof(event))
		memcpy(&event, queue + queue_pos, size);
	queue_pos += size;
	return &event.head;
}

static uint32_t is_next(int wd, uint32_t mask, const char *name, const char *what)
{
	const struct inotify_event *event = next_event();

	if (event->wd != wd || event->mask != mask)
		crt_diag("event %x of watch %d", event->mask, event->wd);
	crt_ok(event->wd == wd && event->mask == mask && !strcmp(event->len ? event->name : "", name), "%s", what);
	return event->cookie;
}

static void verify_kinds(void)
{
	uint32_t cookie;

	crt_same(is_next(dir, IN_CREATE, long_name, "a file was made"), 0, "which is no half of a move");
	cookie = is_next(dir, IN_MOVED_FROM, long_name, "it was moved");
	crt_ok(cookie != 0, "with a number for the move");
	crt_same(is_next(dir, IN_MOVED_TO, "b", "to there"), cookie, "which the other half has, too");
	is_next(dir, IN_CREATE | IN_ISDIR, "c", "a directory was made");
	is_next(gone, IN_ATTRIB, "", "a file was changed, and lost its name, which is the same");
	is_next(gone, IN_DELETE_SELF, "", "it has gone");
	is_next(gone, IN_IGNORED, "", "and its watch with it");
	is_next(dir, IN_ATTRIB | IN_ISDIR, "", "the directory was changed");
	CRT_SYS(chmod(crt_path("place"), 0755));
	is_next(dir, IN_ATTRIB | IN_ISDIR, "", "what happens now comes behind that");
	CRT_SYS(chmod(crt_path("place"), 0700));
	next_event();
}

static void verify_overflow(void)
{
	const struct inotify_event *event;
	long n = 0, wrong = 0;

	while ((event = next_event())->mask == IN_ATTRIB)
		wrong += event->wd != (n++ % 2 ? gone : dir);
	crt_ok(n > 1000 && n < 20000, "%ld events", n);
	crt_same((n + 1) * (long)sizeof(*event), queued, "which are all");
	crt_same(wrong, 0, "in their order");
	crt_ok(event->mask == IN_Q_OVERFLOW && event->wd == -1, "others have been lost");
}

static void verify(void)
{
	struct epoll_event event;
	int now = 0;

	CRT_SYS(ioctl(fd, FIONREAD, &now));
	crt_same(now, queued, "as many bytes wait to be read");
	crt_same(epoll_wait(set, &event, 1, 10000), 1, "epoll tells of them");
	if (crt_case)
		verify_overflow();
	else
		verify_kinds();
	crt_ok(next_event()->wd == -2 && errno == EAGAIN, "no more");
}

const struct crt_test crt_test = {
	.text = "events of inotify that have not been read",
	.setup = setup,
	.verify = verify,
	.cases = "overflow",
};
