// SPDX-License-Identifier: GPL-2.0-only
/*
 * inotify in a mount namespace of one's own: of what the requester has, too, of a temporary file system of the namespace, of
 * what has been removed there; and of what another mount has at the same place outside.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef INOTIFY_FLAGS
#define INOTIFY_FLAGS 0
#endif

static int fd, removed, wd_shared, wd_own, wd_removed, wd_moved;

static void make(const char *name)
{
	CRT_SYS(close((int)CRT_SYS(open(name, O_WRONLY | O_CREAT, 0600))));
}

static void setup(void)
{
	CRT_SYS(chdir(crt_dir()));
	CRT_SYS(mkdir("shared", 0755));
	CRT_SYS(mkdir("own", 0755));
	CRT_SYS(mkdir("moved", 0755));
	CRT_SYS(mkdir("moved/outside", 0755));
	CRT_SYS(mkdir("target", 0755));
	CRT_SYS(mkdir("target/outside", 0755));
	if (getuid())
		crt_unshare_users(CLONE_NEWNS);
	else
		CRT_SYS(unshare(CLONE_NEWNS));
	CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CRT_SYS(mount("none", "own", "tmpfs", 0, "size=1m"));
	CRT_SYS(mount("moved", "target", NULL, MS_BIND, NULL));
	CRT_SYS(mkdir("own/dir", 0755));
	removed = (int)CRT_SYS(open("own/removed", O_RDWR | O_CREAT, 0600));
	fd = (int)CRT_SYS(inotify_init1(IN_NONBLOCK));
	wd_shared = (int)CRT_SYS(inotify_add_watch(fd, "shared", IN_CREATE));
	wd_own = (int)CRT_SYS(inotify_add_watch(fd, "own/dir", IN_CREATE));
	wd_moved = (int)CRT_SYS(inotify_add_watch(fd, "target/outside", IN_CREATE));
	wd_removed = (int)CRT_SYS(inotify_add_watch(fd, "own/removed", IN_MODIFY));
	CRT_SYS(unlink("own/removed"));
	make("own/dir/before");
}

static void next_is(int wd, uint32_t mask, const char *name, const char *what)
{
	union {
		struct inotify_event head;
		char bytes[512];
	} event;
	ssize_t size = sizeof(event.head) + (*name ? 16 : 0);

	memset(&event, 0, sizeof(event));
	/* One, and no more. */
	crt_same(read(fd, &event, size), size, "an event");
	crt_ok(event.head.wd == wd && event.head.mask == mask && !strcmp(event.head.name, name), "%s", what);
}

static void verify(void)
{
	char rest[256];

	next_is(wd_own, IN_CREATE, "before", "one that had not been read");
	unlink("shared/new");
	make("shared/new");
	next_is(wd_shared, IN_CREATE, "new", "of a directory that the requester has, too");
	unlink("own/dir/new");
	make("own/dir/new");
	next_is(wd_own, IN_CREATE, "new", "of one of the namespace's own");
	unlink("moved/outside/new");
	make("moved/outside/new");
	next_is(wd_moved, IN_CREATE, "new", "of one that is mounted there");
	CRT_SYS(pwrite(removed, "x", 1, 0));
	next_is(wd_removed, IN_MODIFY, "", "of a removed file");
	crt_ok(read(fd, rest, sizeof(rest)) == -1 && errno == EAGAIN, "no more");
}

const struct crt_test crt_test = {
	.text = "inotify in a mount namespace",
	.setup = setup,
	.verify = verify,
	.flags = INOTIFY_FLAGS,
};
