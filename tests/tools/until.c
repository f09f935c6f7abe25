/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * until - has a thread that waits until a time of CLOCK_MONOTONIC, half a second from then, again and again; prints a line after each
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static void *wait_until_times(void *unused)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_condattr_t monotonic;
	struct timespec until;
	pthread_cond_t never;

	(void)unused;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&never, &monotonic);
	pthread_mutex_lock(&mutex);
	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += 500000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		while (pthread_cond_timedwait(&never, &mutex, &until) != ETIMEDOUT)
			continue;
		if (puts("x") < 0 || fflush(stdout))
			return NULL;
	}
}

int main(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, wait_until_times, NULL) || pthread_join(thread, NULL) || 1;
}
