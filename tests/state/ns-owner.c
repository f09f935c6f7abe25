// SPDX-License-Identifier: GPL-2.0-only
/* A parent in the uts and network namespaces of a user namespace below its own, which its child has made (nsenter(1) into a container). */
#define _GNU_SOURCE
#include "ns-owner.h"

static void make(void)
{
	crt_unshare_users(CLONE_NEWUTS | CLONE_NEWNET);
	CRT_SYS(sethostname("inner", 5));
	shared->stage = 1;
}

static void setup(void)
{
	begin();
	crt_unshare_users(0);
	begin_child(make);
	wait_for_stage(1);
	enter_of(child, "uts", CLONE_NEWUTS);
	enter_of(child, "net", CLONE_NEWNET);
	settle();
}

static void verify(void)
{
	static const char *const host[MEMBERS] = { "inner", "inner" };

	verify_members(host, NULL);
}

const struct crt_test crt_test = {
	.text = "namespaces of a user namespace below that of the process",
	.setup = setup,
	.verify = verify,
};
