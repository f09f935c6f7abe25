// SPDX-License-Identifier: GPL-2.0-only
/* A parent that enters others than those of users when it has a child already: with a time namespace for its later children. */
#define _GNU_SOURCE
#include "ns-parent-later.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static void enter(void)
{
	CRT_SYS(unshare(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS));
	if (unshare(CLONE_NEWTIME))
		crt_diag("no time namespaces");
}

static void setup(void)
{
	begin(enter);
}

const struct crt_test crt_test = {
	.text = "namespaces that root's process entered after it had forked",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
