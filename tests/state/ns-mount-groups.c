// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mounts of one namespace that see what is mounted in each other: peers, a slave, a slave that others share, of all of a file system
 * and of a part.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef GROUPS_FLAGS
#define GROUPS_FLAGS 0
#endif

static const char *const names[] = { "top", "peer", "part", "slave", "second", "third", "alone" };
#define NR (sizeof(names) / sizeof(names[0]))

static char top[256];

static void bind(const char *from, const char *to, unsigned long propagation)
{
	CRT_SYS(mount(from, to, NULL, MS_BIND, NULL));
	if (propagation)
		CRT_SYS(mount(NULL, to, NULL, propagation, NULL));
}

static void setup(void)
{
	CRT_SYS(getcwd(top, sizeof(top)) ? 0 : -1);
	for (size_t i = 0; i < NR; i++)
		CRT_SYS(mkdir(names[i], 0755));
	if (getuid())
		crt_unshare_users(CLONE_NEWNS);
	else
		CRT_SYS(unshare(CLONE_NEWNS));
	CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CRT_SYS(mount("none", "top", "tmpfs", 0, "size=64k"));
	CRT_SYS(mount(NULL, "top", NULL, MS_SHARED, NULL));
	CRT_SYS(mkdir("top/dir", 0755));
	CRT_SYS(mkdir("top/dir/new", 0755));
	bind("top", "peer", 0);
	bind("top/dir", "part", 0);
	bind("top", "slave", MS_SLAVE);
	bind("top", "second", MS_SLAVE);
	CRT_SYS(mount(NULL, "second", NULL, MS_SHARED, NULL));
	bind("second/dir", "third", 0);
	bind("top", "alone", MS_PRIVATE);
	CRT_SYS(mount(NULL, "alone", NULL, MS_SHARED, NULL));
}

/* Where there is something in the directory, a letter for each place. */
static void seen(char *text)
{
	static const char *const places[] = { "top/dir", "peer/dir", "part", "slave/dir", "second/dir", "third", "alone/dir" };
	char path[512];

	for (size_t i = 0; i < NR; i++) {
		snprintf(path, sizeof(path), "%s/%s/new/file", top, places[i]);
		if (!access(path, F_OK))
			*text++ = (char)('a' + i);
	}
	*text = 0;
}

/* What is mounted at one place is there at others. */
static void spreads(const char *place, const char *to)
{
	char path[512], text[NR + 1];

	snprintf(path, sizeof(path), "%s/%s/new", top, place);
	CRT_SYS(mount("none", path, "tmpfs", 0, "size=4k"));
	snprintf(path, sizeof(path), "%s/%s/new/file", top, place);
	crt_put(path, "", O_CREAT);
	seen(text);
	crt_same_str(text, to, "who sees what is mounted in %s", place);
	snprintf(path, sizeof(path), "%s/%s/new", top, place);
	CRT_SYS(umount(path));
	seen(text);
	crt_same_str(text, "", "and who sees it go");
}

static void verify(void)
{
	spreads("top/dir", "abcdef");
	spreads("part", "abcdef");
	spreads("peer/dir", "abcdef");
	spreads("slave/dir", "d");
	spreads("second/dir", "ef");
	spreads("third", "ef");
	spreads("alone/dir", "g");
}

const struct crt_test crt_test = {
	.text = "mounts of a namespace that see what is mounted in each other",
	.setup = setup,
	.verify = verify,
	.flags = GROUPS_FLAGS,
};
