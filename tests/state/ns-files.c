// SPDX-License-Identifier: GPL-2.0-only
/* Descriptors of namespaces: of all that the process is in, and of those that it has left, which are cr_restart's. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *name;
	int type;
	bool own;			/* the process gets one of its own */
} kinds[] = {
	{ "net", CLONE_NEWNET, true },
	{ "uts", CLONE_NEWUTS, true },
	{ "ipc", CLONE_NEWIPC, true },
	{ "user", CLONE_NEWUSER, true },
	{ "cgroup", CLONE_NEWCGROUP, false },
	{ "mnt", CLONE_NEWNS, false },
	{ "pid", CLONE_NEWPID, false },
};

#define KINDS	((int)(sizeof(kinds) / sizeof(kinds[0])))

static int outer[KINDS], inner[KINDS], twice;
static ino_t was_outer[KINDS];

static int open_own(int kind)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[kind].name);
	return (int)CRT_SYS(open(path, O_RDONLY | O_CLOEXEC));
}

static ino_t inode_of(int fd)
{
	struct stat st;

	CRT_SYS(fstat(fd, &st));
	return st.st_ino;
}

static void setup(void)
{
	for (int i = 0; i < KINDS; i++) {
		outer[i] = open_own(i);
		was_outer[i] = inode_of(outer[i]);
	}
	crt_unshare_users(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC);
	for (int i = 0; i < KINDS; i++)
		inner[i] = open_own(i);
	twice = (int)CRT_SYS(dup(inner[0]));
}

static void verify(void)
{
	for (int i = 0; i < KINDS; i++) {
		int now = open_own(i);

		crt_same(ioctl(inner[i], NS_GET_NSTYPE), kinds[i].type, "type of a %s namespace", kinds[i].name);
		crt_same((long long)inode_of(inner[i]), (long long)inode_of(now), "it is that of the process");
		crt_same((long long)inode_of(outer[i]), (long long)was_outer[i], "the one that it had before");
		crt_same(inode_of(inner[i]) != inode_of(outer[i]), kinds[i].own, "whether that is another one");
		crt_ok(fcntl(inner[i], F_GETFD) == FD_CLOEXEC, "close-on-exec");
		close(now);
	}
	crt_same((long long)inode_of(twice), (long long)inode_of(inner[0]), "another descriptor of one");
	crt_ok(!setns(inner[1], CLONE_NEWUTS), "a namespace can be entered by it");
}

const struct crt_test crt_test = {
	.text = "descriptors of namespaces",
	.setup = setup,
	.verify = verify,
};
