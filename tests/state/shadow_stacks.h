/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of shadow stacks have in common. The one of an architecture includes this when it has defined
 *
 *   MODES             what mode() is of a thread with a shadow stack; WRITE, and that it may be written to
 *   pointer(), mode() of the calling thread
 *
 * and defines
 *
 *   run_switched()    as run(), on a shadow stack of its own that has been written to
 *   return_elsewhere() returns to where nobody has called it from, and ends the process if it gets there
 */
#ifndef SHADOW_STACKS_H
#define SHADOW_STACKS_H

#include "crtest.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define THREADS 4
#define DEPTH 700			/* more than a page of return addresses */

enum kind { COMPUTES, IS_BLOCKED, IS_IN_HANDLER, HAS_SWITCHED };

struct runner {
	enum kind kind;
	pthread_t thread;
	unsigned long stack;		/* an address in what the kernel has made for it */
	unsigned long mode_after, sum;
	volatile bool is_set_up;
	bool stays_locked, keeps_bytes, may_write;
};

static struct runner runners[THREADS];
static volatile bool go;
static int pipe_fd[2];
static unsigned long main_stack;
static uint64_t pattern[512];
static volatile unsigned long handler_sum;

static void run_switched(struct runner *r);
static void return_elsewhere(void);

static void at_the_bottom(struct runner *r)
{
	char byte;

	r->is_set_up = true;
	if (r->kind == IS_BLOCKED)
		while (read(pipe_fd[0], &byte, 1) < 0 && errno == EINTR)
			;
	else
		while (!go)
			;
}

/* Not to be made a loop. */
static __attribute__((noinline, optimize("no-optimize-sibling-calls"))) unsigned long deep(struct runner *r, unsigned long n)
{
	unsigned long sum = n;

	if (n > 1)
		sum += deep(r, n - 1);
	else
		at_the_bottom(r);
	__asm__ volatile("" : "+r"(sum));
	return sum;
}

static void handler(int signal)
{
	(void)signal;
	handler_sum = deep(&runners[IS_IN_HANDLER], DEPTH);
}

static void *run(void *arg)
{
	struct runner *r = arg;

	r->stack = pointer();
	if (r->kind == HAS_SWITCHED) {
		run_switched(r);
	} else if (r->kind == IS_IN_HANDLER) {
		CRT_SYS(raise(SIGUSR1));
		r->sum = handler_sum;
	} else {
		r->sum = deep(r, DEPTH);
	}
	r->mode_after = mode();
	return NULL;
}

/* When the main thread has its own. */
static void start_threads(void)
{
	main_stack = pointer();
	crt_fill(pattern, sizeof(pattern), 71);
	signal(SIGUSR1, handler);
	CRT_SYS(pipe(pipe_fd));
	for (int i = 0; i < THREADS; i++) {
		runners[i].kind = i;
		CRT_SYS(-pthread_create(&runners[i].thread, NULL, run, &runners[i]));
		while (!runners[i].is_set_up)
			crt_sleep_ms(1);
	}
}

static bool is_mapped(unsigned long address)
{
	unsigned char unused;

	return !mincore((void *)(address & ~(crt_page() - 1)), 1, &unused);
}

static void check_guarded(void)
{
	int status = 0;
	pid_t child = CRT_SYS(fork());

	if (!child)
		return_elsewhere();
	CRT_SYS(waitpid(child, &status, 0));
	crt_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "a forged return address is noticed");
}

static void verify(void)
{
	static const char *const names[THREADS] = { "computing", "blocked", "in a handler", "on its own stack" };
	char flags[256] = "";

	go = true;
	CRT_SYS(write(pipe_fd[1], "x", 1));
	for (int i = 0; i < THREADS; i++) {
		struct runner *r = &runners[i];

		pthread_join(r->thread, NULL);
		crt_same((long long)r->sum, DEPTH * (DEPTH + 1) / 2, "thread %s: has returned from all calls", names[i]);
		crt_same((long long)r->mode_after, MODES | (i == HAS_SWITCHED ? WRITE : 0), "thread %s: its modes", names[i]);
		crt_ok(!is_mapped(r->stack), "thread %s: its stack has gone with it", names[i]);
	}
	crt_ok(runners[HAS_SWITCHED].keeps_bytes, "what was written to a shadow stack");
	crt_ok(runners[HAS_SWITCHED].may_write, "it can be written to still");
	crt_ok(runners[HAS_SWITCHED].stays_locked, "modes that are locked stay so");
	crt_same((long long)mode(), MODES, "modes of the main thread");
	crt_ok(crt_smaps((void *)main_stack, "VmFlags", flags, sizeof(flags)) && crt_has_word(flags, "ss"),
	       "its memory is a shadow stack:%s", flags);
	check_guarded();
}

#endif
