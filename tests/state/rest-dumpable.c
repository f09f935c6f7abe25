// SPDX-License-Identifier: GPL-2.0-only
/* A process that may not be dumped: its own user is refused, root gets it back as it was. */
#define _GNU_SOURCE
#include "crtest.h"
#include <sys/prctl.h>

static void setup(void)
{
	CRT_SYS(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

static void verify(void)
{
	crt_same(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0, "dumpable");
}

const struct crt_test crt_test = {
	.text = "a process that is not dumpable stays so",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
