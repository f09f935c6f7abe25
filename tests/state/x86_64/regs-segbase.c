// SPDX-License-Identifier: GPL-2.0-only
/* Segment bases of each thread: fs is the thread's own storage, gs is the program's. */
#define _GNU_SOURCE
#include "crtest.h"
#include <asm/prctl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define N 4

static __thread uint64_t own;
static uint64_t words[N][4];
static unsigned long fs_before[N], fs_now[N], gs_now[N], own_now[N], word_now[N];
static pthread_t thread[N];
static pthread_barrier_t filled;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static unsigned long get(int what)
{
	unsigned long value = 0;

	CRT_SYS(syscall(SYS_arch_prctl, what, &value));
	return value;
}

static void *thread_main(void *arg)
{
	long i = (long)arg;

	own = 1000 + (uint64_t)i;
	words[i][2] = 5000 + (uint64_t)i;
	CRT_SYS(syscall(SYS_arch_prctl, ARCH_SET_GS, words[i]));
	fs_before[i] = get(ARCH_GET_FS);
	pthread_barrier_wait(&filled);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	fs_now[i] = get(ARCH_GET_FS);
	gs_now[i] = get(ARCH_GET_GS);
	own_now[i] = own;
	__asm__ volatile("movq %%gs:16, %0" : "=r"(word_now[i]));
	return NULL;
}

static void setup(void)
{
	pthread_barrier_init(&filled, NULL, N + 1);
	pthread_mutex_lock(&gate);
	for (long i = 0; i < N; i++)
		CRT_SYS(-pthread_create(&thread[i], NULL, thread_main, (void *)i));
	pthread_barrier_wait(&filled);
	crt_sleep_ms(50);
}

static void verify(void)
{
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < N; i++) {
		pthread_join(thread[i], NULL);
		crt_same((long long)fs_now[i], (long long)fs_before[i], "thread %d: fs base", i);
		crt_same((long long)gs_now[i], (long long)(intptr_t)words[i], "thread %d: gs base", i);
		crt_same((long long)own_now[i], 1000 + i, "thread %d: its own storage", i);
		crt_same((long long)word_now[i], 5000 + i, "thread %d: read through gs", i);
	}
}

const struct crt_test crt_test = {
	.text = "segment bases of every thread",
	.setup = setup,
	.verify = verify,
};
