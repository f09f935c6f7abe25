// SPDX-License-Identifier: GPL-2.0-only
/* A child with a uts namespace of its own, that has entered its parent's user namespace afterwards. */
#define _GNU_SOURCE
#include "ns-owner.h"

static pid_t parent;

static void make(void)
{
	CRT_SYS(unshare(CLONE_NEWUTS));
	CRT_SYS(sethostname("outer", 5));
	shared->stage = 1;
	wait_for_stage(2);
	enter_of(parent, "user", CLONE_NEWUSER);
	shared->stage = 3;
}

static void setup(void)
{
	parent = getpid();
	begin();
	begin_child(make);
	wait_for_stage(1);
	crt_unshare_users(0);
	shared->stage = 2;
	wait_for_stage(3);
	settle();
}

static void verify(void)
{
	static const char *const host[MEMBERS] = { NULL, "outer" };

	verify_members(host, NULL);
}

const struct crt_test crt_test = {
	.text = "a namespace that is owned by a user namespace above that of its process",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
