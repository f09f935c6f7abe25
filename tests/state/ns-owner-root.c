// SPDX-License-Identifier: GPL-2.0-only
/* The same by root, which is in no user namespace of its own, and with a mount namespace that has a file of its own. */
#define _GNU_SOURCE
#include "ns-owner.h"
#include <sys/mount.h>

static void make(void)
{
	crt_unshare_users(CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS);
	CRT_SYS(sethostname("inner", 5));
	CRT_SYS(mount("t", "/mnt", "tmpfs", 0, NULL));
	crt_put("/mnt/ns-owner", "of the child", O_CREAT);
	shared->stage = 1;
}

static void setup(void)
{
	begin();
	begin_child(make);
	wait_for_stage(1);
	enter_of(child, "uts", CLONE_NEWUTS);
	enter_of(child, "net", CLONE_NEWNET);
	enter_of(child, "ipc", CLONE_NEWIPC);
	enter_of(child, "mnt", CLONE_NEWNS);
	settle();
}

static void verify(void)
{
	static const char *const host[MEMBERS] = { "inner", "inner" };
	static const char *const file[MEMBERS] = { "of the child", "of the child" };

	verify_members(host, file);
}

const struct crt_test crt_test = {
	.text = "namespaces of a user namespace that root's process is not in",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
