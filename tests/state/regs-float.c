// SPDX-License-Identifier: GPL-2.0-only
/* Threads that compute with vectors all the time give bit-equal results; rounding modes stay. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define N 4
#define BLOCK 20000

typedef double vec __attribute__((vector_size(32)));

static pthread_t thread[N];
static long blocks[N];
static vec result[N];
static int rounding[N];
static const int modes[N] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };

/* A chain in which every bit of every lane counts. */
static void __attribute__((noinline)) block(vec *io)
{
	vec a = io[0], b = io[1], c = io[2];

	for (int i = 0; i < BLOCK; i++) {
		a = a * 1.0000001 + b;
		b = b * 0.9999999 - c * 0.001;
		c = c + a * 1e-7;
		if (a[0] > 1e6)
			a = a * 1e-6;
	}
	io[0] = a;
	io[1] = b;
	io[2] = c;
}

static void start(vec *io, long i)
{
	io[0] = (vec){ 1.0 + (double)i, 1.1, 1.2, 1.3 };
	io[1] = (vec){ 0.1, 0.2 + (double)i, 0.3, 0.4 };
	io[2] = (vec){ 0.01, 0.02, 0.03 + (double)i, 0.04 };
}

static void *thread_main(void *arg)
{
	long i = (long)arg;
	vec io[3];

	fesetround(modes[i]);
	start(io, i);
	while (!crt_go()) {
		block(io);
		blocks[i]++;
	}
	rounding[i] = fegetround();
	result[i] = io[0] + io[1] + io[2];
	return NULL;
}

static void setup(void)
{
	for (long i = 0; i < N; i++)
		CRT_SYS(-pthread_create(&thread[i], NULL, thread_main, (void *)i));
}

static void verify(void)
{
	for (long i = 0; i < N; i++) {
		vec io[3], again;

		pthread_join(thread[i], NULL);
		crt_same(rounding[i], modes[i], "thread %ld: rounding mode", i);
		fesetround(modes[i]);
		start(io, i);
		for (long n = 0; n < blocks[i]; n++)
			block(io);
		again = io[0] + io[1] + io[2];
		fesetround(FE_TONEAREST);
		crt_ok(!memcmp(&again, &result[i], sizeof(again)),
		       "thread %ld: %ld blocks give the same bits again", i, blocks[i]);
	}
}

const struct crt_test crt_test = {
	.text = "vector arithmetic in every thread gives bit-equal results",
	.setup = setup,
	.verify = verify,
};
