/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * until - has a thread that waits until a time of CLOCK_MONOTONIC, half a second from then, again and again; prints a line after each
 *
 *	until never	until the end of time, which it takes for one that does not come
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool never;

static void *wait_until_times(void *unused)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_condattr_t monotonic;
	struct timespec until;
	pthread_cond_t condition;

	(void)unused;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&condition, &monotonic);
	pthread_mutex_lock(&mutex);
	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += 500000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (never)
			until.tv_sec = LONG_MAX;
		while (pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT)
			continue;
		if (puts("x") < 0 || fflush(stdout))
			return NULL;
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;

	never = argc > 1 && !strcmp(argv[1], "never");
	return pthread_create(&thread, NULL, wait_until_times, NULL) || pthread_join(thread, NULL) || 1;
}
