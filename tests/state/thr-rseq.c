// SPDX-License-Identifier: GPL-2.0-only
/* Restartable sequences: still registered in every thread, and the cpu number is kept true. */
#define _GNU_SOURCE
#include "crtest.h"
#include "thread_pointer.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#define N 2

static pthread_t thread[N];
static pthread_barrier_t filled;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static char said[N][128];

static struct rseq *area(void)
{
	return (struct rseq *)((char *)thread_pointer() + __rseq_offset);
}

/* The word of a thread about itself; "good" if all is well. */
static const char *examine(char *buf, size_t size)
{
	volatile struct rseq *rs = area();
	cpu_set_t all, one;
	int wrong = 0;
	long rc;

	sched_getaffinity(0, sizeof(all), &all);
	for (int round = 0; round < 20; round++)
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (!CPU_ISSET(cpu, &all))
				continue;
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			if (!sched_setaffinity(0, sizeof(one), &one))
				wrong += rs->cpu_id != (uint32_t)cpu || rs->cpu_id_start != (uint32_t)cpu;
		}
	sched_setaffinity(0, sizeof(all), &all);
	/* a second registration of the same area is told apart from a first one */
	rc = syscall(SYS_rseq, rs, __rseq_size < 32 ? 32 : __rseq_size, 0, RSEQ_SIG);
	snprintf(buf, size, rc == -1 && errno == EBUSY && !wrong ? "good" : "registered: %s, cpu_id wrong %d times",
		 rc ? strerror(errno) : "was not", wrong);
	return buf;
}

static void *thread_main(void *arg)
{
	long i = (long)arg;

	pthread_barrier_wait(&filled);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	examine(said[i], sizeof(said[i]));
	return NULL;
}

static void setup(void)
{
	char buf[128];

	if (!__rseq_size)
		crt_skip("the C library did not register restartable sequences");
	if (strcmp(examine(buf, sizeof(buf)), "good"))
		crt_die("at the start: %s", buf);
	pthread_barrier_init(&filled, NULL, N + 1);
	pthread_mutex_lock(&gate);
	for (long i = 0; i < N; i++)
		CRT_SYS(-pthread_create(&thread[i], NULL, thread_main, (void *)i));
	pthread_barrier_wait(&filled);
}

static void verify(void)
{
	char buf[128];

	crt_same_str(examine(buf, sizeof(buf)), "good", "main thread");
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < N; i++) {
		pthread_join(thread[i], NULL);
		crt_same_str(said[i], "good", "thread %d", i);
	}
}

const struct crt_test crt_test = {
	.text = "restartable sequences are registered and right",
	.setup = setup,
	.verify = verify,
};
