// SPDX-License-Identifier: GPL-2.0-only
/* Shadow stacks: what was called before returns to where it was called from, and only there. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MAP_SHADOW_STACK 453		/* system call */
#define SET_TOKEN 1UL
#define ENABLE 0x5001			/* of arch_prctl(2) */
#define DISABLE 0x5002
#define LOCK 0x5003
#define STATUS 0x5005
#define STACK 1UL			/* ARCH_SHSTK_* */
#define WRITE 2UL

#define THREADS 4
#define DEPTH 700			/* more than a page of return addresses */
#define MAX_FRAMES 64
#define ALTERNATE (4 * 4096UL)

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

extern char **environ;

static inline __attribute__((always_inline)) unsigned long pointer(void)
{
	unsigned long value = 0;

	__asm__ volatile("rdsspq %0" : "+r"(value));
	return value;
}

static inline __attribute__((always_inline)) void write_word(unsigned long to, uint64_t word)
{
	__asm__ volatile("wrssq %1, (%0)" : : "r"(to), "r"(word) : "memory");
}

/* As arch_prctl(2), without a call from which there would be no return. */
static inline __attribute__((always_inline)) long control(long option, unsigned long argument)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result) : "a"(SYS_arch_prctl), "D"(option), "S"(argument)
			 : "rcx", "r11", "memory");
	return result;
}

static unsigned long mode(void)
{
	unsigned long value = ~0UL;

	CRT_SYS(syscall(SYS_arch_prctl, STATUS, &value));
	return value;
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
	unsigned long old = pointer();

	__asm__ volatile("rstorssp (%0)\n"
			 "saveprevssp\n" : : "r"(token) : "memory");
	return old - 8;
}

static __attribute__((noinline)) void run_switched(struct runner *r)
{
	long made = CRT_SYS(syscall(MAP_SHADOW_STACK, 0, ALTERNATE, SET_TOKEN));
	unsigned long old;

	CRT_SYS(syscall(SYS_arch_prctl, ENABLE, WRITE));
	CRT_SYS(syscall(SYS_arch_prctl, LOCK, STACK));
	for (size_t i = 0; i < sizeof(pattern) / sizeof(pattern[0]); i++)
		write_word(made + i * sizeof(pattern[0]), pattern[i]);
	old = change_stack(made + ALTERNATE - 8);
	r->sum = deep(r, DEPTH);
	change_stack(old);
	r->keeps_bytes = !memcmp((void *)made, pattern, sizeof(pattern));
	write_word(made, ~pattern[0]);
	r->may_write = *(volatile uint64_t *)made == ~pattern[0];
	r->stays_locked = syscall(SYS_arch_prctl, DISABLE, STACK) && errno == EPERM;
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

/* Some word onto both stacks, and off the ordinary one. (Calls of what follows them leave shadow stacks alone.) */
static inline __attribute__((always_inline)) void push_any(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n"
			 "call 1f\n"
			 "nop\n"
			 "1: lea 136(%%rsp), %%rsp\n" : : : "memory");
}

/*
 * Where this function and those that have called it return to is put onto the new stack, as if they had been
 * called with it. (Built with frame pointers; what the C library has in that register above main() need not be one.)
 */
static __attribute__((noinline)) void setup(void)
{
	uint64_t *frame = __builtin_frame_address(0), *above;
	uint64_t addresses[MAX_FRAMES];
	int n = 0;
	long result = control(ENABLE, STACK);

	if (result == -EOPNOTSUPP || result == -EINVAL)
		crt_skip("no shadow stacks");
	if (result || control(ENABLE, WRITE))
		_exit(99);
	for (; frame && n < MAX_FRAMES; frame = above > frame && above < (uint64_t *)environ ? above : NULL) {
		addresses[n++] = frame[1];
		above = (uint64_t *)frame[0];
	}
	while (n > 0) {
		push_any();
		write_word(pointer(), addresses[--n]);
	}
	if (control(DISABLE, WRITE))
		_exit(98);

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
		__asm__ volatile("lea -128(%%rsp), %%rsp\n"
				 "lea 1f(%%rip), %%rax\n"
				 "push %%rax\n"
				 "ret\n"
				 "1: lea 128(%%rsp), %%rsp\n" : : : "rax", "memory");
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
		crt_same((long long)r->mode_after, STACK | (i == HAS_SWITCHED ? WRITE : 0), "thread %s: its modes", names[i]);
		crt_ok(!is_mapped(r->stack), "thread %s: its stack has gone with it", names[i]);
	}
	crt_ok(runners[HAS_SWITCHED].keeps_bytes, "what was written to a shadow stack");
	crt_ok(runners[HAS_SWITCHED].may_write, "it can be written to still");
	crt_ok(runners[HAS_SWITCHED].stays_locked, "modes that are locked stay so");
	crt_same((long long)mode(), STACK, "modes of the main thread");
	crt_ok(crt_smaps((void *)main_stack, "VmFlags", flags, sizeof(flags)) && crt_has_word(flags, "ss"),
	       "its memory is a shadow stack:%s", flags);
	check_guarded();
}

const struct crt_test crt_test = {
	.text = "shadow stacks of threads that compute, are blocked, handle a signal and have changed stacks",
	.setup = setup,
	.verify = verify,
};
