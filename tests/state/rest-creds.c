// SPDX-License-Identifier: GPL-2.0-only
/* Credentials of an ordinary user's process are that user's. */
#define _GNU_SOURCE
#include "crtest.h"
#include <string.h>
#include <unistd.h>

static const char *const lines[] = { "Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb",
				     "NoNewPrivs", "Seccomp" };

#define LINES (sizeof(lines) / sizeof(lines[0]))

static char before[LINES][256];

static void setup(void)
{
	for (size_t i = 0; i < LINES; i++)
		if (!crt_status(lines[i], before[i], sizeof(before[i])))
			crt_die("no %s in /proc/self/status", lines[i]);
}

static void verify(void)
{
	for (size_t i = 0; i < LINES; i++) {
		char now[256] = "";

		crt_status(lines[i], now, sizeof(now));
		crt_same_str(now, before[i], "%s", lines[i]);
	}
}

const struct crt_test crt_test = {
	.text = "an ordinary user's credentials",
	.setup = setup,
	.verify = verify,
};
