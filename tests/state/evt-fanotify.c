// SPDX-License-Identifier: GPL-2.0-only
/* fanotify without privileges: marks of files and directories with all they can have. */
#define _GNU_SOURCE
#include "fanotify.h"

static int fd, set, kept;
static struct fan_state before;

static void mark(unsigned int flags, uint64_t mask, const char *path)
{
	CRT_SYS(fanotify_mark(fd, flags, mask, AT_FDCWD, path));
}

static void setup(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	const char *until, *quiet, *evictable;

	CRT_SYS(mkdir(crt_path("a place"), 0755));
	crt_make_file("file", 10, 1);
	quiet = crt_make_file("quiet", 10, 1);
	until = crt_make_file("until", 10, 1);
	evictable = crt_make_file("evictable", 10, 1);
	kept = (int)CRT_SYS(open(evictable, O_RDONLY));
	fd = (int)CRT_SYS(fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_DFID_NAME | FAN_NONBLOCK | FAN_CLOEXEC, O_RDONLY | O_NOATIME));
	mark(FAN_MARK_ADD | FAN_MARK_ONLYDIR, FAN_CREATE | FAN_DELETE | FAN_MODIFY | FAN_ONDIR | FAN_EVENT_ON_CHILD, crt_path("a place"));
	mark(FAN_MARK_ADD, FAN_MODIFY | FAN_CLOSE_WRITE, crt_path("file"));
	mark(FAN_MARK_ADD | FAN_MARK_IGNORED_MASK | FAN_MARK_IGNORED_SURV_MODIFY, FAN_CLOSE_WRITE, crt_path("file"));
	mark(FAN_MARK_ADD, FAN_ATTRIB, quiet);
	mark(FAN_MARK_ADD | FAN_MARK_IGNORE_SURV, FAN_ATTRIB, quiet);
	mark(FAN_MARK_REMOVE | FAN_MARK_IGNORE_SURV, FAN_ATTRIB, quiet);
	mark(FAN_MARK_ADD, FAN_ATTRIB | FAN_MODIFY, until);
	mark(FAN_MARK_ADD | FAN_MARK_IGNORED_MASK, FAN_ATTRIB, until);
	mark(FAN_MARK_ADD | FAN_MARK_EVICTABLE, FAN_ATTRIB, evictable);
	set = (int)CRT_SYS(epoll_create1(0));
	CRT_SYS(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
	fan_look(fd, &before);
	if (before.n != 6)
		crt_die("fdinfo has %d lines", before.n);
}

static int create(void)
{
	return mkdir(crt_path("a place/new"), 0700);
}

static int delete(void)
{
	return rmdir(crt_path("a place/new"));
}

static void change(const char *name)
{
	int file = (int)CRT_SYS(open(crt_path(name), O_WRONLY));

	CRT_SYS(write(file, "x", 1));
	CRT_SYS(close(file));
}

static void touch(const char *name)
{
	CRT_SYS(chmod(crt_path(name), 0644));
}

static void verify(void)
{
	struct epoll_event event;
	pid_t me = getpid();

	fan_same(fd, &before, "group");
	crt_ok(epoll_wait(set, &event, 1, 0) == 0 && fan_quiet(fd), "no event that was not caused");
	crt_same(fan_status(fan_child(create)), 0, "a child makes a directory");
	crt_same(epoll_wait(set, &event, 1, 10000), 1, "epoll tells of an event");
	crt_ok(fan_expect(fd, FAN_CREATE | FAN_ONDIR, 0, "new"), "a directory was made by somebody");
	crt_same(fan_status(fan_child(delete)), 0, "and takes it away");
	crt_ok(fan_expect(fd, FAN_DELETE | FAN_ONDIR, 0, "new"), "a directory was taken away by somebody");
	change("file");
	crt_ok(fan_expect(fd, FAN_MODIFY, me, "file"), "a file was written to");
	crt_ok(fan_quiet(fd), "that it was closed is ignored");
	touch("quiet");
	crt_ok(fan_expect(fd, FAN_ATTRIB, me, "quiet"), "what was ignored once is not any more");
	crt_ok(fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_IGNORED_MASK, FAN_OPEN, AT_FDCWD, crt_path("quiet")) == -1 && errno == EEXIST,
	       "the mark knows how it ignored");
	touch("until");
	crt_ok(fan_quiet(fd), "ignored until it is written to");
	change("until");
	crt_ok(fan_expect(fd, FAN_MODIFY, me, "until"), "which is told");
	touch("until");
	crt_ok(fan_expect(fd, FAN_ATTRIB, me, "until"), "and then not any more");
	touch("evictable");
	crt_ok(fan_expect(fd, FAN_ATTRIB, me, "evictable"), "an evictable mark");
	crt_ok(fan_quiet(fd), "no more events");
	close(kept);
}

const struct crt_test crt_test = {
	.text = "fanotify without privileges",
	.setup = setup,
	.verify = verify,
};
