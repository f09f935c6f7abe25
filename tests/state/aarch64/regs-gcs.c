// SPDX-License-Identifier: GPL-2.0-only
/* Guarded control stacks: what was called before returns to where it was called from, and only there. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define GCS_BIT (1UL << 32)		/* of AT_HWCAP */
#define MAP_SHADOW_STACK 453		/* system call */
#define SET_TOKEN 1UL
#define GET_STATUS 74			/* of prctl(2) */
#define SET_STATUS 75
#define LOCK_STATUS 76
#define ENABLE 1UL			/* PR_SHADOW_STACK_* */
#define WRITE 2UL
#define PUSH 4UL
#define POINTER "S3_3_C2_C5_1"		/* gcspr_el0 */

#define THREADS 4
#define DEPTH 700			/* more than a page of return addresses */
#define MAX_FRAMES 64
#define ADDRESS 0xffffffffffffUL	/* without a signature */
#define ALTERNATE (4 * 4096UL)

enum kind { COMPUTES, IS_BLOCKED, IS_IN_HANDLER, HAS_SWITCHED };

struct runner {
	enum kind kind;
	pthread_t thread;
	unsigned long stack;		/* an address in what the kernel has made for it */
	unsigned long mode_after, sum;
	volatile bool is_set_up;
	bool stays_locked, keeps_bytes;
};

static struct runner runners[THREADS];
static volatile bool go;
static int pipe_fd[2];
static unsigned long main_stack;
static uint64_t pattern[512];
static volatile unsigned long handler_sum;

static unsigned long pointer(void)
{
	unsigned long value;

	__asm__ volatile("mrs %0, " POINTER : "=r"(value));
	return value;
}

static unsigned long mode(void)
{
	unsigned long value = ~0UL;

	CRT_SYS(prctl(GET_STATUS, &value, 0, 0, 0));
	return value;
}

/* As prctl(SET_STATUS), without a call from which there would be no return. */
static inline __attribute__((always_inline)) long set_status(unsigned long status)
{
	register long x0 __asm__("x0") = SET_STATUS;
	register unsigned long x1 __asm__("x1") = status;
	register unsigned long x2 __asm__("x2") = 0;
	register unsigned long x3 __asm__("x3") = 0;
	register unsigned long x4 __asm__("x4") = 0;
	register long x8 __asm__("x8") = SYS_prctl;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x8) : "memory");
	return x0;
}

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

/* Goes to the stack whose token is at @token. Returns where the token of the other one is now. */
static inline __attribute__((always_inline)) unsigned long change_stack(unsigned long token)
{
	unsigned long old;

	__asm__ volatile("sys #3, C7, C7, #2, %1\n"
			 "sysl %0, #3, C7, C7, #3\n" : "=&r"(old) : "r"(token) : "memory");
	return old;
}

static void write_stack(uint64_t *to, const uint64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		register uint64_t *x0 __asm__("x0") = &to[i];
		register uint64_t x1 __asm__("x1") = from[i];

		/* gcsstr x1, [x0] */
		__asm__ volatile(".inst 0xd91f0c01" : : "r"(x0), "r"(x1) : "memory");
	}
}

static __attribute__((noinline)) void run_switched(struct runner *r)
{
	long made = CRT_SYS(syscall(MAP_SHADOW_STACK, 0, ALTERNATE, SET_TOKEN));
	unsigned long old;

	CRT_SYS(prctl(SET_STATUS, ENABLE | PUSH | WRITE, 0, 0, 0));
	CRT_SYS(prctl(LOCK_STATUS, ENABLE | PUSH, 0, 0, 0));
	write_stack((uint64_t *)made, pattern, sizeof(pattern) / sizeof(pattern[0]));
	old = change_stack(made + ALTERNATE - 8);
	r->sum = deep(r, DEPTH);
	change_stack(old);
	r->keeps_bytes = !memcmp((void *)made, pattern, sizeof(pattern));
	r->stays_locked = prctl(SET_STATUS, 0, 0, 0, 0) && errno == EBUSY;
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

/*
 * Where this function and those that have called it return to is put onto the new stack, as if they had been
 * called with it.
 */
static __attribute__((noinline)) void setup(void)
{
	uint64_t *frame = __builtin_frame_address(0), *above;
	uint64_t addresses[MAX_FRAMES];
	int n = 0;

	if (!(getauxval(AT_HWCAP) & GCS_BIT))
		crt_skip("no guarded control stacks");
	for (; frame && n < MAX_FRAMES; frame = above > frame ? above : NULL) {
		addresses[n++] = frame[1] & ADDRESS;
		above = (uint64_t *)frame[0];
	}
	if (set_status(ENABLE | PUSH))
		_exit(99);
	while (n > 0)
		__asm__ volatile("sys #3, C7, C7, #0, %0" : : "r"(addresses[--n]) : "memory");

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

/* In a child: it dies where it returns to where nobody has called it from. */
static void check_guarded(void)
{
	int status = 0;
	pid_t child = CRT_SYS(fork());

	if (!child) {
		__asm__ volatile("adr x30, 1f\n"
				 "ret\n"
				 "1:" : : : "x30", "memory");
		_exit(0);
	}
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
		crt_same((long long)r->mode_after, ENABLE | PUSH | (i == HAS_SWITCHED ? WRITE : 0),
			 "thread %s: its modes", names[i]);
		crt_ok(!is_mapped(r->stack), "thread %s: its stack has gone with it", names[i]);
	}
	crt_ok(runners[HAS_SWITCHED].keeps_bytes, "what was written to a shadow stack");
	crt_ok(runners[HAS_SWITCHED].stays_locked, "modes that are locked stay so");
	crt_same((long long)mode(), ENABLE | PUSH, "modes of the main thread");
	crt_ok(crt_smaps((void *)main_stack, "VmFlags", flags, sizeof(flags)) && crt_has_word(flags, "ss"),
	       "its memory is a shadow stack:%s", flags);
	check_guarded();
}

const struct crt_test crt_test = {
	.text = "guarded control stacks of threads that compute, are blocked, handle a signal and have changed stacks",
	.setup = setup,
	.verify = verify,
};
