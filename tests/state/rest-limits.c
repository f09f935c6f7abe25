// SPDX-License-Identifier: GPL-2.0-only
/* Resource limits, soft and hard. */
#define _GNU_SOURCE
#include "crtest.h"
#include <sys/resource.h>

static struct rlimit before[RLIM_NLIMITS];

static void lower(int resource, rlim_t soft, rlim_t hard)
{
	struct rlimit limit;

	CRT_SYS(getrlimit(resource, &limit));
	if (hard < limit.rlim_max)
		limit.rlim_max = hard;
	limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
	CRT_SYS(setrlimit(resource, &limit));
}

static void setup(void)
{
	lower(RLIMIT_NOFILE, 345, 678);
	lower(RLIMIT_CORE, 0, 1 << 20);
	lower(RLIMIT_STACK, 6 << 20, 1 << 30);
	lower(RLIMIT_NPROC, 5000, 6000);
	lower(RLIMIT_FSIZE, 1 << 30, 2UL << 30);
	lower(RLIMIT_CPU, 3000, 4000);
	lower(RLIMIT_SIGPENDING, 1000, 2000);
	for (int i = 0; i < RLIM_NLIMITS; i++)
		CRT_SYS(getrlimit(i, &before[i]));
}

static void verify(void)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit now;

		CRT_SYS(getrlimit(i, &now));
		crt_same((long long)now.rlim_cur, (long long)before[i].rlim_cur, "limit %d: soft", i);
		crt_same((long long)now.rlim_max, (long long)before[i].rlim_max, "limit %d: hard", i);
	}
}

const struct crt_test crt_test = {
	.text = "resource limits",
	.setup = setup,
	.verify = verify,
};
