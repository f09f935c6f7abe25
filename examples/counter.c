// SPDX-License-Identifier: GPL-2.0-only
/*
 * counter - threads that count, each in its own memory
 *
 *	counter [THREADS]
 *
 * Every thread adds one to its counter each millisecond; five times a second the main
 * thread prints how many threads there are and the sum of their counters:
 *
 *	counter: T=4 sum=1684
 *
 * Nothing here knows of checkpoints. The sums live in memory only: a process restarted from
 * its context prints on from where it was, a program started anew begins at nought.
 *
 * Build: cc -O2 -pthread -o counter counter.c
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_THREADS 1024

static atomic_ulong counts[MAX_THREADS];

static void sleep_ms(long ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) == -1 && errno == EINTR)
		;
}

static void *count(void *argument)
{
	atomic_ulong *mine = argument;

	for (;;) {
		atomic_fetch_add(mine, 1);
		sleep_ms(1);
	}
	return NULL;
}

static unsigned long sum_of(int threads)
{
	unsigned long sum = 0;

	for (int i = 0; i < threads; i++)
		sum += atomic_load(&counts[i]);
	return sum;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;

	if (argc > 2 || threads < 1 || threads > MAX_THREADS) {
		fprintf(stderr, "usage: counter [THREADS], at most %d\n", MAX_THREADS);
		return 2;
	}
	for (int i = 0; i < threads; i++) {
		pthread_t thread;
		int error = pthread_create(&thread, NULL, count, &counts[i]);

		if (error) {
			fprintf(stderr, "counter: no thread %d: %s\n", i, strerror(error));
			return 1;
		}
	}
	for (;;) {
		printf("counter: T=%d sum=%lu\n", threads, sum_of(threads));
		if (fflush(stdout) == EOF)
			return 1;
		sleep_ms(200);
	}
}
