/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * until - has a thread that waits until a time of CLOCK_MONOTONIC, half a second from then, again and again; prints a line after each
 *
 *	until never	until the end of time, which it takes for one that does not come
 *	until sleep	by clock_nanosleep(2) in place of a condition
 *	until boot	the same on CLOCK_BOOTTIME
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool never, sleeps;
static clockid_t used = CLOCK_MONOTONIC;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;

static void wait_until(const struct timespec *until)
{
	if (sleeps)
		while (clock_nanosleep(used, TIMER_ABSTIME, until, NULL))
			continue;
	else
		while (pthread_cond_timedwait(&condition, &mutex, until) != ETIMEDOUT)
			continue;
}

static void *wait_until_times(void *unused)
{
	struct timespec until;

	(void)unused;
	pthread_mutex_lock(&mutex);
	for (;;) {
		clock_gettime(used, &until);
		until.tv_nsec += 500000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (never)
			until.tv_sec = LONG_MAX;
		wait_until(&until);
		if (puts("x") < 0 || fflush(stdout))
			return NULL;
	}
}

int main(int argc, char **argv)
{
	pthread_condattr_t monotonic;
	pthread_t thread;

	for (int i = 1; i < argc; i++) {
		never |= !strcmp(argv[i], "never");
		sleeps |= strcmp(argv[i], "never") != 0;
		if (!strcmp(argv[i], "boot"))
			used = CLOCK_BOOTTIME;
	}
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&condition, &monotonic);
	return pthread_create(&thread, NULL, wait_until_times, NULL) || pthread_join(thread, NULL) || 1;
}
