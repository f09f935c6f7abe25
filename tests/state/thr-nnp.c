// SPDX-License-Identifier: GPL-2.0-only
/*
 * no_new_privs of some threads only: of a thread that confines itself by a filter, as programs do with their workers, or
 * of the main thread alone ("main").
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS		3

static pthread_barrier_t ready;
static pthread_t ids[THREADS];
static pid_t tids[THREADS + 1];
static int before[THREADS + 1][2];

static int value_of(pid_t tid, const char *name)
{
	char path[64], status[8192], line[32], *at;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	snprintf(line, sizeof(line), "\n%s:\t", name);
	crt_slurp(path, status, sizeof(status));
	at = strstr(status, line);
	return at ? at[strlen(line)] - '0' : -1;
}

static void confine(int with_filter)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mount, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	CRT_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (with_filter)
		CRT_SYS(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
}

static void *thread(void *arg)
{
	long n = (long)arg;

	tids[n] = gettid();
	if (!crt_case && n)
		confine(n == 1);
	pthread_barrier_wait(&ready);
	while (!crt_go())
		crt_sleep_ms(20);
	pthread_barrier_wait(&ready);
	return NULL;
}

static void setup(void)
{
	pthread_barrier_init(&ready, NULL, THREADS + 1);
	for (long i = 0; i < THREADS; i++)
		CRT_SYS(-pthread_create(&ids[i], NULL, thread, (void *)i));
	tids[THREADS] = getpid();
	pthread_barrier_wait(&ready);
	if (crt_case)
		confine(0);
	for (int i = 0; i <= THREADS; i++) {
		before[i][0] = value_of(tids[i], "NoNewPrivs");
		before[i][1] = value_of(tids[i], "Seccomp");
	}
	if (before[crt_case ? THREADS : 1][0] != 1 || before[0][0])
		crt_die("not those that have said so have no_new_privs");
}

static void verify(void)
{
	for (int i = 0; i <= THREADS; i++) {
		crt_same(value_of(tids[i], "NoNewPrivs"), before[i][0], "thread %d: no_new_privs", i);
		crt_same(value_of(tids[i], "Seccomp"), before[i][1], "thread %d: Seccomp", i);
	}
	pthread_barrier_wait(&ready);
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
}

const struct crt_test crt_test = {
	.text = "no_new_privs of some threads",
	.setup = setup,
	.verify = verify,
	.cases = "main",
};
