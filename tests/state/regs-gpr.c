// SPDX-License-Identifier: GPL-2.0-only
/* All registers of regs_arch.h hold patterns while four threads spin. */
#define _GNU_SOURCE
#include "regs.h"
#include <stdio.h>

#define THREADS 4

static struct regs_thread threads[THREADS];

static void *run(void *arg)
{
	regs_spin(arg);
	return NULL;
}

static void setup(void)
{
	for (unsigned int i = 0; i < THREADS; i++) {
		regs_fill(&threads[i].in, 71 + i);
		CRT_SYS(-pthread_create(&threads[i].thread, NULL, run, &threads[i]));
	}
}

static void verify(void)
{
	char who[32];

	for (unsigned int i = 0; i < THREADS; i++) {
		threads[i].go = 1;
		pthread_join(threads[i].thread, NULL);
		snprintf(who, sizeof(who), "thread %u", i);
		regs_verify(&threads[i].in, &threads[i].out, false, who);
	}
}

const struct crt_test crt_test = {
	.text = "general, vector and control registers of computing threads",
	.setup = setup,
	.verify = verify,
};
