// SPDX-License-Identifier: GPL-2.0-only
/* membarrier(2) registrations: the expedited commands work without registering again. */
#define _GNU_SOURCE
#include "crtest.h"
#include <linux/membarrier.h>
#include <string.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static int membarrier(int cmd)
{
	return (int)syscall(SYS_membarrier, cmd, 0, 0);
}

static void setup(void)
{
	if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
		crt_skip("no membarrier()");
	CRT_SYS(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE));
}

static void verify(void)
{
	crt_same(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED), 0, "private expedited");
	crt_same(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE), 0, "private expedited, core-serializing");
	errno = 0;
	crt_ok(membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0, "global expedited needs no registration");
}

const struct crt_test crt_test = {
	.text = "membarrier registrations",
	.setup = setup,
	.verify = verify,
};
