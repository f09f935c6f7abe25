// SPDX-License-Identifier: GPL-2.0-only
/* A parent that enters a user namespace, and others that this owns, when it has a child already. */
#define _GNU_SOURCE
#include "ns-parent-later.h"

static void enter(void)
{
	crt_unshare_users(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET);
}

static void setup(void)
{
	begin(enter);
}

const struct crt_test crt_test = {
	.text = "namespaces that a parent entered after it had forked",
	.setup = setup,
	.verify = verify,
};
