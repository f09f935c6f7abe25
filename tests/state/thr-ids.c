// SPDX-License-Identifier: GPL-2.0-only
/* Threads: their ids, their names, their number, and pthread_join() with what they return. */
#define _GNU_SOURCE
#include "crtest.h"
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define N 12

static struct thread {
	pthread_t id;
	pid_t tid_before, tid_now;
	char name[32], name_now[32];
} threads[N];

static pid_t pid;
static pthread_barrier_t filled;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	t->tid_before = gettid();
	snprintf(t->name, sizeof(t->name), "thr (%d)", (int)(t - threads));
	prctl(PR_SET_NAME, t->name, 0, 0, 0);
	pthread_barrier_wait(&filled);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	t->tid_now = gettid();
	prctl(PR_GET_NAME, t->name_now, 0, 0, 0);
	return (void *)((intptr_t)t->tid_now * 2);
}

static int count_tasks(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n - 2;
}

static void setup(void)
{
	pid = getpid();
	pthread_barrier_init(&filled, NULL, N + 1);
	pthread_mutex_lock(&gate);
	for (int i = 0; i < N; i++)
		CRT_SYS(-pthread_create(&threads[i].id, NULL, thread_main, &threads[i]));
	pthread_barrier_wait(&filled);
}

static void *empty(void *arg)
{
	return arg;
}

static void verify(void)
{
	int joined = 0;

	crt_same(getpid(), pid, "pid");
	crt_same(gettid(), pid, "the main thread has the pid as its tid");
	crt_same(count_tasks(), N + 1, "number of threads");
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < N; i++) {
		struct thread *t = &threads[i];
		void *value = NULL;

		pthread_join(t->id, &value);
		joined += value == (void *)((intptr_t)t->tid_before * 2);
		crt_same(t->tid_now, t->tid_before, "thread %d: tid", i);
		crt_same_str(t->name_now, t->name, "thread %d: name", i);
	}
	crt_same(joined, N, "pthread_join() ends and gives what the threads returned");
	for (int i = 0; i < 100; i++) {
		pthread_t id;
		void *value = NULL;

		CRT_SYS(-pthread_create(&id, NULL, empty, threads + 1));
		pthread_join(id, &value);
		joined += value == threads + 1;
	}
	crt_same(joined, N + 100, "new threads can be made and joined");
	/* a thread that was joined may be on its way out still */
	for (int i = 0; i < 100 && count_tasks() > 1; i++)
		crt_sleep_ms(20);
	crt_same(count_tasks(), 1, "in the end there is one thread");
}

const struct crt_test crt_test = {
	.text = "threads keep tids and names, and can be joined",
	.setup = setup,
	.verify = verify,
};
