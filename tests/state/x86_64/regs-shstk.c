// SPDX-License-Identifier: GPL-2.0-only
/* Shadow stacks: what was called before returns to where it was called from, and only there. */
#define _GNU_SOURCE
#include "crtest.h"
#include <string.h>
#include <sys/syscall.h>

#define MAP_SHADOW_STACK 453		/* system call */
#define SET_TOKEN 1UL
#define ENABLE 0x5001			/* of arch_prctl(2) */
#define DISABLE 0x5002
#define LOCK 0x5003
#define STATUS 0x5005
#define STACK 1UL			/* ARCH_SHSTK_* */
#define WRITE 2UL
#define MODES STACK

#define MAX_FRAMES 64
#define ALTERNATE (4 * 4096UL)

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

#include "shadow_stacks.h"

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
	start_threads();
}

static void return_elsewhere(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n"
			 "lea 1f(%%rip), %%rax\n"
			 "push %%rax\n"
			 "ret\n"
			 "1: lea 128(%%rsp), %%rsp\n" : : : "rax", "memory");
	_exit(0);
}

const struct crt_test crt_test = {
	.text = "shadow stacks of threads that compute, are blocked, handle a signal and have changed stacks",
	.setup = setup,
	.verify = verify,
};
