// SPDX-License-Identifier: GPL-2.0-only
/* Real-time scheduling, negative nice values and oom_score_adj, which take privileges. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct thread {
	const char *name;
	int policy, priority, nice;
	int policy_now, priority_now, nice_now;
	pthread_t id;
} threads[] = {
	{ .name = "fifo", .policy = SCHED_FIFO, .priority = 7 },
	{ .name = "rr", .policy = SCHED_RR, .priority = 3 },
	{ .name = "other", .policy = SCHED_OTHER, .nice = -9 },
};

#define N (sizeof(threads) / sizeof(threads[0]))

static pthread_barrier_t filled;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static char oom_before[16];

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	struct sched_param param = { .sched_priority = t->priority };

	CRT_SYS(setpriority(PRIO_PROCESS, 0, t->nice));
	CRT_SYS(sched_setscheduler(0, t->policy, &param));
	pthread_barrier_wait(&filled);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	t->policy_now = sched_getscheduler(0);
	sched_getparam(0, &param);
	t->priority_now = param.sched_priority;
	t->nice_now = getpriority(PRIO_PROCESS, 0);
	return NULL;
}

static void setup(void)
{
	int fd = (int)CRT_SYS(open("/proc/self/oom_score_adj", O_WRONLY));

	if (write(fd, "-123", 4) != 4)			/* a container may forbid it to root, too */
		crt_diag("oom_score_adj: %m");
	close(fd);
	crt_slurp("/proc/self/oom_score_adj", oom_before, sizeof(oom_before));
	pthread_barrier_init(&filled, NULL, N + 1);
	pthread_mutex_lock(&gate);
	for (size_t i = 0; i < N; i++)
		CRT_SYS(-pthread_create(&threads[i].id, NULL, thread_main, &threads[i]));
	pthread_barrier_wait(&filled);
}

static void verify(void)
{
	char oom[16];

	crt_slurp("/proc/self/oom_score_adj", oom, sizeof(oom));
	crt_same_str(oom, oom_before, "oom_score_adj");
	pthread_mutex_unlock(&gate);
	for (size_t i = 0; i < N; i++) {
		struct thread *t = &threads[i];

		pthread_join(t->id, NULL);
		crt_same(t->policy_now, t->policy, "%s: policy", t->name);
		crt_same(t->priority_now, t->priority, "%s: priority", t->name);
		crt_same(t->nice_now, t->nice, "%s: nice", t->name);
	}
}

const struct crt_test crt_test = {
	.text = "real-time policies and what else takes privileges",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
