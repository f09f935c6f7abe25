// SPDX-License-Identifier: GPL-2.0-only
/* Scheduling of each thread: policy, nice value, affinity, I/O priority. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IOPRIO(class, level) (((class) << 13) | (level))

static struct thread {
	const char *name;
	int policy, nice, ioprio, timer_slack;
	unsigned long affinity;
	int policy_now, nice_now, ioprio_now;
	unsigned long affinity_now;
	bool reset_on_fork;
	pthread_t id;
} threads[] = {
	{ .name = "batch", .policy = SCHED_BATCH, .nice = 5, .ioprio = IOPRIO(2, 7), .affinity = 1 },
	{ .name = "idle", .policy = SCHED_IDLE, .nice = 0, .ioprio = IOPRIO(3, 0), .affinity = 3 },
	{ .name = "other", .policy = SCHED_OTHER, .nice = 11, .ioprio = IOPRIO(2, 0), .affinity = 2 },
	{ .name = "reset", .policy = SCHED_OTHER, .nice = 3, .affinity = 1, .reset_on_fork = true },
};

#define N (sizeof(threads) / sizeof(threads[0]))

static pthread_barrier_t filled;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static unsigned long possible;

static unsigned long get_affinity(void)
{
	unsigned long mask = 0;

	syscall(SYS_sched_getaffinity, 0, sizeof(mask), &mask);
	return mask;
}

static int ioprio_get(void)
{
	return (int)syscall(SYS_ioprio_get, 1, 0);
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	struct sched_param zero = { 0 };
	unsigned long mask = t->affinity & possible ? t->affinity & possible : possible;

	t->affinity = mask;
	CRT_SYS(setpriority(PRIO_PROCESS, 0, t->nice));
	CRT_SYS(sched_setscheduler(0, t->policy | (t->reset_on_fork ? SCHED_RESET_ON_FORK : 0), &zero));
	CRT_SYS(syscall(SYS_sched_setaffinity, 0, sizeof(mask), &mask));
	if (t->ioprio)
		CRT_SYS(syscall(SYS_ioprio_set, 1, 0, t->ioprio));
	t->ioprio = ioprio_get();
	pthread_barrier_wait(&filled);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	t->policy_now = sched_getscheduler(0);
	errno = 0;
	t->nice_now = getpriority(PRIO_PROCESS, 0);
	t->affinity_now = get_affinity();
	t->ioprio_now = ioprio_get();
	return NULL;
}

static void setup(void)
{
	possible = get_affinity();
	pthread_barrier_init(&filled, NULL, N + 1);
	pthread_mutex_lock(&gate);
	for (size_t i = 0; i < N; i++)
		CRT_SYS(-pthread_create(&threads[i].id, NULL, thread_main, &threads[i]));
	pthread_barrier_wait(&filled);
}

static void verify(void)
{
	pthread_mutex_unlock(&gate);
	crt_same(sched_getscheduler(0), SCHED_OTHER, "main thread: policy");
	crt_same(getpriority(PRIO_PROCESS, 0), 0, "main thread: nice");
	for (size_t i = 0; i < N; i++) {
		struct thread *t = &threads[i];

		pthread_join(t->id, NULL);
		crt_same(t->policy_now, t->policy | (t->reset_on_fork ? SCHED_RESET_ON_FORK : 0), "%s: policy", t->name);
		crt_same(t->nice_now, t->nice, "%s: nice", t->name);
		crt_same((long long)t->affinity_now, (long long)t->affinity, "%s: affinity", t->name);
		crt_same(t->ioprio_now, t->ioprio, "%s: I/O priority", t->name);
	}
}

const struct crt_test crt_test = {
	.text = "policy, nice value, affinity and I/O priority of each thread",
	.setup = setup,
	.verify = verify,
};
