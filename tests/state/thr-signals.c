// SPDX-License-Identifier: GPL-2.0-only
/* Of each thread: blocked signals, alternate stack, and signals pending for it alone. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define N 3
#define ALT_SIZE (64u << 10)

static struct thread {
	pthread_t id;
	pid_t tid;
	sigset_t mask, mask_now;
	stack_t alt, alt_now;
	char *alt_memory;
	int rt_value[3], usr_code, usr_pid;
	bool on_alt, more;
} threads[N];

static pthread_barrier_t filled;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static __thread volatile uintptr_t handler_frame;

static void on_signal(int sig)
{
	int here;

	(void)sig;
	handler_frame = (uintptr_t)&here;
}

static sigset_t one(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	return set;
}

static void take_pending(struct thread *t)
{
	struct timespec zero = { 0, 0 };
	sigset_t rt = one(SIGRTMIN + 4), usr = one(SIGUSR1);
	siginfo_t info;

	for (int i = 0; i < 3; i++)
		t->rt_value[i] = sigtimedwait(&rt, &info, &zero) > 0 ? info.si_value.sival_int : -1;
	t->more = sigtimedwait(&rt, &info, &zero) > 0;
	if (sigtimedwait(&usr, &info, &zero) == SIGUSR1) {
		t->usr_code = info.si_code;
		t->usr_pid = info.si_pid;
	}
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	long i = t - threads;

	sigfillset(&t->mask);
	sigdelset(&t->mask, SIGUSR2);
	sigdelset(&t->mask, SIGRTMIN + 10 + (int)i);
	pthread_sigmask(SIG_SETMASK, &t->mask, NULL);
	pthread_sigmask(SIG_SETMASK, NULL, &t->mask);
	t->usr_code = 9999;
	t->tid = gettid();
	t->alt_memory = malloc(ALT_SIZE);
	t->alt = (stack_t){ .ss_sp = t->alt_memory, .ss_size = ALT_SIZE };
	CRT_SYS(sigaltstack(&t->alt, NULL));
	pthread_barrier_wait(&filled);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	pthread_sigmask(SIG_SETMASK, NULL, &t->mask_now);
	sigaltstack(NULL, &t->alt_now);
	take_pending(t);
	pthread_kill(pthread_self(), SIGUSR2);
	t->on_alt = handler_frame >= (uintptr_t)t->alt_memory && handler_frame < (uintptr_t)t->alt_memory + ALT_SIZE;
	return NULL;
}

static void setup(void)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	sigaction(SIGUSR2, &act, NULL);
	pthread_barrier_init(&filled, NULL, N + 1);
	pthread_mutex_lock(&gate);
	for (int i = 0; i < N; i++)
		CRT_SYS(-pthread_create(&threads[i].id, NULL, thread_main, &threads[i]));
	pthread_barrier_wait(&filled);
	for (int i = 0; i < N; i++) {
		for (int v = 0; v < 3; v++)
			CRT_SYS(-pthread_sigqueue(threads[i].id, SIGRTMIN + 4,
						  (union sigval){ .sival_int = 100 * i + v + 1 }));
		if (i != 1)
			CRT_SYS(-pthread_kill(threads[i].id, SIGUSR1));
	}
}

static void verify(void)
{
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < N; i++) {
		struct thread *t = &threads[i];

		pthread_join(t->id, NULL);
		crt_ok(!memcmp(&t->mask, &t->mask_now, 8), "thread %d: blocked signals", i);
		crt_ok(t->alt_now.ss_sp == t->alt_memory && t->alt_now.ss_size == ALT_SIZE && !t->alt_now.ss_flags,
		       "thread %d: alternate stack", i);
		crt_ok(t->on_alt, "thread %d: a handler runs on it", i);
		for (int v = 0; v < 3; v++)
			crt_same(t->rt_value[v], 100 * i + v + 1, "thread %d: queued signal %d", i, v);
		crt_ok(!t->more, "thread %d: and no further one", i);
		crt_same(t->usr_code, i == 1 ? 9999 : SI_USER, "thread %d: SIGUSR1 pending or not", i);
		if (i != 1)
			crt_same(t->usr_pid, getpid(), "thread %d: from this process", i);
	}
}

const struct crt_test crt_test = {
	.text = "signal masks, alternate stacks and pending signals of each thread",
	.setup = setup,
	.verify = verify,
};
