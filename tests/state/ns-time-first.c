// SPDX-License-Identifier: GPL-2.0-only
/* The first process of a pid namespace, in a user namespace of its own and in the time namespace that its parent has for its children. */
#define _GNU_SOURCE
#include "ns-owner.h"

static void nothing(void)
{
}

static void setup(void)
{
	begin();
	crt_unshare_users(CLONE_NEWUTS);
	if (unshare(CLONE_NEWTIME))
		crt_skip("no time namespaces");
	begin_child_in(CLONE_NEWUSER | CLONE_NEWPID, nothing);
	settle();
}

static void verify(void)
{
	static const char *const host[MEMBERS] = { NULL, NULL };

	verify_members(host, NULL);
}

const struct crt_test crt_test = {
	.text = "the first process of a pid namespace, in a time namespace for children",
	.setup = setup,
	.verify = verify,
};
