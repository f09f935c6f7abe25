// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mount namespace without two things that the machine has mounted, and with others instead: all of one, and a file of the
 * other, by bind mounts that were made before these went; a new file system; and a bind mount of a directory.  In the kernel they
 * may have the numbers of what has gone.  All is below /dev, as are those, so that they go just before.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include "mountinfo.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const points[] = { "whole", "own", "bound", "again" };
#define NR_POINTS (sizeof(points) / sizeof(points[0]))

static char before[32768], now[32768], base[64];
static struct stat whole, part;

static const char *in(const char *name)
{
	static char path[2][128];
	static int next;

	next = !next;
	snprintf(path[next], sizeof(path[next]), "%s/%s", base, name);
	return path[next];
}

static void setup(void)
{
	snprintf(base, sizeof(base), "/dev/shm/taken-%d", (int)getpid());
	CRT_SYS(mkdir(base, 0755));
	for (size_t i = 0; i < NR_POINTS; i++)
		CRT_SYS(mkdir(in(points[i]), 0755));
	CRT_SYS(mkdir(in("source"), 0755));
	crt_put(in("source/file"), "source", O_CREAT);
	crt_put(in("part"), "", O_CREAT);
	CRT_SYS(unshare(CLONE_NEWNS));
	CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CRT_SYS(mount("/dev/mqueue", in("whole"), NULL, MS_BIND, NULL));
	CRT_SYS(mount("/dev/pts/ptmx", in("part"), NULL, MS_BIND, NULL));
	CRT_SYS(stat("/dev/mqueue", &whole));
	CRT_SYS(stat("/dev/pts/ptmx", &part));
	CRT_SYS(umount("/dev/mqueue"));
	CRT_SYS(umount("/dev/pts"));
	CRT_SYS(mount("none", in("own"), "tmpfs", 0, "size=64k"));
	CRT_SYS(mount(in("source"), in("bound"), NULL, MS_BIND, NULL));
	CRT_SYS(mount(in("own"), in("again"), NULL, MS_BIND, NULL));
	crt_put(in("own/file"), "own", O_CREAT);
	mounts(before, sizeof(before));
}

static void has(const char *name, const char *text)
{
	char is[64] = "";

	crt_slurp(in(name), is, sizeof(is) - 1);
	crt_same_str(is, text, "%s", name);
}

static void is_same(const char *name, const struct stat *was)
{
	struct stat is;

	crt_ok(!stat(in(name), &is) && is.st_dev == was->st_dev && is.st_ino == was->st_ino, "%s is what it was bound from", name);
}

/* Nothing in the requester's namespace is below it. */
static void clean_up(void)
{
	for (size_t i = NR_POINTS; i-- > 0;) {
		(void)umount(in(points[i]));
		(void)rmdir(in(points[i]));
	}
	(void)umount(in("part"));
	(void)unlink(in("part"));
	(void)unlink(in("source/file"));
	(void)rmdir(in("source"));
	(void)rmdir(base);
}

static void verify(void)
{
	mounts(now, sizeof(now));
	crt_same_str(now, before, "what is mounted");
	is_same("whole", &whole);
	is_same("part", &part);
	has("own/file", "own");
	has("again/file", "own");
	has("bound/file", "source");
	crt_ok(access("/dev/pts/ptmx", F_OK) && errno == ENOENT, "nothing is left where they were mounted first");
	clean_up();
}

const struct crt_test crt_test = {
	.text = "mounts of what has been unmounted in a mount namespace",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT | CRT_ONCE,
};
