// SPDX-License-Identifier: GPL-2.0-only
/* Robust mutexes: a thread that ends with one held leaves word of it. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define N 3

static pthread_mutex_t robust[N], gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread[N];
static pthread_barrier_t filled;
static void *head_before[N], *head_now[N];

static void *head(void)
{
	void *list = NULL;
	size_t len;

	CRT_SYS(syscall(SYS_get_robust_list, 0, &list, &len));
	return list;
}

static void *thread_main(void *arg)
{
	long i = (long)arg;

	head_before[i] = head();
	pthread_mutex_lock(&robust[i]);
	pthread_barrier_wait(&filled);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	head_now[i] = head();
	return NULL;				/* with robust[i] held */
}

static void setup(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);	/* left to the kernel, not to pthread_exit() */
	pthread_barrier_init(&filled, NULL, N + 1);
	pthread_mutex_lock(&gate);
	for (long i = 0; i < N; i++) {
		pthread_mutex_init(&robust[i], &attr);
		CRT_SYS(-pthread_create(&thread[i], NULL, thread_main, (void *)i));
	}
	pthread_barrier_wait(&filled);
}

static void verify(void)
{
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < N; i++) {
		pthread_join(thread[i], NULL);
		crt_same((intptr_t)head_now[i], (intptr_t)head_before[i], "thread %d: robust list", i);
		crt_same_str(strerror(pthread_mutex_trylock(&robust[i])), strerror(EOWNERDEAD),
			     "thread %d: its mutex tells that the owner died", i);
	}
}

const struct crt_test crt_test = {
	.text = "robust lists work",
	.setup = setup,
	.verify = verify,
};
