// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread of the kernel that submits (IORING_SETUP_SQPOLL) in a pid namespace: there the next free ids are those that
 * the threads of the job are going to have.
 */
#define _GNU_SOURCE
#include "uring.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define THREADS 20

static struct {
	atomic_uint round, told;
	pid_t pid, tids[THREADS];
	int result;
	uint64_t user;
} *shared;

static pid_t outside, before[THREADS];
static unsigned int number;

static void *thread_main(void *arg)
{
	for (unsigned int i = (unsigned int)(uintptr_t)arg;;) {
		shared->tids[i] = gettid();
		crt_sleep_ms(10);
	}
	return NULL;
}

/* The first process of the namespace. */
static void live(void)
{
	static struct uring ring;
	pthread_t id;

	CRT_SYS(prctl(PR_SET_PDEATHSIG, SIGKILL));
	for (uintptr_t i = 0; i < THREADS; i++)
		CRT_SYS(-pthread_create(&id, NULL, thread_main, (void *)i));
	/* Last: at the restart it is made before the threads. */
	if (!uring_make_by(&ring, 2, (struct io_uring_params){ .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 20 }))
		_exit(2);
	for (unsigned int round = 0;;) {
		if (atomic_load(&shared->round) == round) {
			crt_sleep_ms(10);
			continue;
		}
		round = atomic_load(&shared->round);
		uring_add(&ring, IORING_OP_NOP, -1, NULL, 0, round);
		uring_wake(&ring, 1);
		while ((shared->result = uring_take(&ring, &shared->user)) == -ENOENT)
			crt_sleep_ms(1);
		shared->pid = getpid();
		atomic_store(&shared->told, round);
	}
}

static bool ask(void)
{
	memset(shared->tids, 0, sizeof(shared->tids));
	number = atomic_fetch_add(&shared->round, 1) + 1;
	for (int wait = 0; atomic_load(&shared->told) != number; wait++) {
		if (wait == 1000)
			return false;
		crt_sleep_ms(10);
	}
	for (int i = 0; i < THREADS; i++)
		for (int wait = 0; !shared->tids[i]; wait++) {
			if (wait == 1000)
				return false;
			crt_sleep_ms(10);
		}
	return true;
}

static void setup(void)
{
	int status = 0;

	shared = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	crt_unshare_users(CLONE_NEWPID);
	outside = (pid_t)CRT_SYS(fork());
	if (!outside)
		live();
	if (!ask()) {
		if (waitpid(outside, &status, WNOHANG) == outside && WEXITSTATUS(status) == 2)
			crt_skip("no rings that the kernel polls");
		crt_die("the process in the namespace does not come up");
	}
	memcpy(before, shared->tids, sizeof(before));
}

static void verify(void)
{
	if (!crt_ok(ask(), "the process in the namespace answers"))
		return;
	crt_same(shared->pid, 1, "its pid");
	for (int i = 0; i < THREADS; i++)
		crt_same(shared->tids[i], before[i], "thread %d: id", i);
	crt_same(shared->result, 0, "its ring works");
	crt_same((long long)shared->user, number, "user_data");
}

const struct crt_test crt_test = {
	.text = "io_uring: a thread of the kernel that submits, in a pid namespace",
	.setup = setup,
	.verify = verify,
};
