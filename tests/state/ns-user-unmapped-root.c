// SPDX-License-Identifier: GPL-2.0-only
/* A user namespace without ids, made by root without supplementary groups. */
#define _GNU_SOURCE
#include "ns-user-unmapped.h"
#include <grp.h>

static void setup(void)
{
	CRT_SYS(setgroups(0, NULL));
	unshare_users();
}

const struct crt_test crt_test = {
	.text = "a user namespace without ids, of root",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
	.cases = "dropped",
};
