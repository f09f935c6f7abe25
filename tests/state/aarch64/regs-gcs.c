// SPDX-License-Identifier: GPL-2.0-only
/* Guarded control stacks: what was called before returns to where it was called from, and only there. */
#define _GNU_SOURCE
#include "crtest.h"
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define GCS_BIT (1UL << 32)		/* of AT_HWCAP */
#define MAP_SHADOW_STACK 453		/* system call */
#define SET_TOKEN 1UL
#define GET_STATUS 74			/* of prctl(2) */
#define SET_STATUS 75
#define LOCK_STATUS 76
#define ENABLE 1UL			/* PR_SHADOW_STACK_* */
#define WRITE 2UL
#define PUSH 4UL
#define MODES (ENABLE | PUSH)
#define POINTER "S3_3_C2_C5_1"		/* gcspr_el0 */

#define MAX_FRAMES 64
#define ADDRESS 0xffffffffffffUL	/* without a signature */
#define ALTERNATE (4 * 4096UL)

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

#include "shadow_stacks.h"

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
	write_stack((uint64_t *)made, &pattern[1], 1);
	r->may_write = *(volatile uint64_t *)made == pattern[1];
	r->stays_locked = prctl(SET_STATUS, 0, 0, 0, 0) && errno == EBUSY;
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
	start_threads();
}

static void return_elsewhere(void)
{
	__asm__ volatile("adr x30, 1f\n"
			 "ret\n"
			 "1:" : : : "x30", "memory");
	_exit(0);
}

const struct crt_test crt_test = {
	.text = "guarded control stacks of threads that compute, are blocked, handle a signal and have changed stacks",
	.setup = setup,
	.verify = verify,
};
