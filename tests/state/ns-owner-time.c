// SPDX-License-Identifier: GPL-2.0-only
/* A child in the time namespace that its parent has for its children only, and with other namespaces than the parent has since. */
#define _GNU_SOURCE
#include "ns-owner.h"

static void nothing(void)
{
}

static void setup(void)
{
	begin();
	crt_unshare_users(CLONE_NEWUTS);
	CRT_SYS(sethostname("before", 6));
	if (unshare(CLONE_NEWTIME))
		crt_skip("no time namespaces");
	begin_child(nothing);
	crt_unshare_users(CLONE_NEWUTS | CLONE_NEWIPC);
	CRT_SYS(sethostname("after", 5));
	settle();
}

static void verify(void)
{
	static const char *const host[MEMBERS] = { "after", "before" };

	verify_members(host, NULL);
}

const struct crt_test crt_test = {
	.text = "a time namespace for children, of a parent that has entered others since",
	.setup = setup,
	.verify = verify,
};
