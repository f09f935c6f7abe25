// SPDX-License-Identifier: GPL-2.0-only
/* All general registers, the flags, FP/SIMD registers and modes hold patterns while four threads spin. */
#define _GNU_SOURCE
#include "crtest.h"
#include <pthread.h>
#include <string.h>

#define THREADS 4

struct regs {
	uint64_t x[29];			/* x29 and x30 are the spinner's own */
	uint64_t nzcv;
	uint64_t fpcr;
	uint64_t fpsr;
	uint8_t v[32][16];
};

/* The assembly knows these offsets. */
struct spinner {
	struct regs in;			/* 0 */
	struct regs out;		/* 768 */
	volatile uint64_t go;		/* 1536 */
	pthread_t thread;
};

_Static_assert(sizeof(struct regs) == 768 && offsetof(struct regs, v) == 256, "known to the assembly");
_Static_assert(offsetof(struct spinner, go) == 1536, "known to the assembly");

static struct spinner spinners[THREADS];

#define NZCV 0xf0000000UL
#define FPCR 0x07c00000UL	/* rounding towards zero, flush to zero, default NaN, alternative half precision */
#define FPSR 0x0800009fUL	/* all exceptions and saturation have occurred */

/*
 * Loads everything from in, spins until go is not 0 without an instruction that changes a flag
 * or any register but x29, and stores everything to out.
 */
void spin(struct spinner *spinner);
__asm__(
	".text\n.globl spin\n.type spin,@function\nspin:\n"
	"	stp x29, x30, [sp, #-176]!\n"
	"	stp x19, x20, [sp, #16]; stp x21, x22, [sp, #32]; stp x23, x24, [sp, #48]\n"
	"	stp x25, x26, [sp, #64]; stp x27, x28, [sp, #80]\n"
	"	stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]; stp d14, d15, [sp, #144]\n"
	"	mov x30, x0\n"
	"	add x29, x30, #256\n"
	"	ld1 {v0.16b-v3.16b}, [x29], #64; ld1 {v4.16b-v7.16b}, [x29], #64\n"
	"	ld1 {v8.16b-v11.16b}, [x29], #64; ld1 {v12.16b-v15.16b}, [x29], #64\n"
	"	ld1 {v16.16b-v19.16b}, [x29], #64; ld1 {v20.16b-v23.16b}, [x29], #64\n"
	"	ld1 {v24.16b-v27.16b}, [x29], #64; ld1 {v28.16b-v31.16b}, [x29], #64\n"
	"	ldr x29, [x30, #232]; msr nzcv, x29\n"
	"	ldr x29, [x30, #240]; msr fpcr, x29\n"
	"	ldr x29, [x30, #248]; msr fpsr, x29\n"
	"	ldp x0, x1, [x30, #0]; ldp x2, x3, [x30, #16]; ldp x4, x5, [x30, #32]; ldp x6, x7, [x30, #48]\n"
	"	ldp x8, x9, [x30, #64]; ldp x10, x11, [x30, #80]; ldp x12, x13, [x30, #96]; ldp x14, x15, [x30, #112]\n"
	"	ldp x16, x17, [x30, #128]; ldp x18, x19, [x30, #144]; ldp x20, x21, [x30, #160]\n"
	"	ldp x22, x23, [x30, #176]; ldp x24, x25, [x30, #192]; ldp x26, x27, [x30, #208]; ldr x28, [x30, #224]\n"
	"1:	ldr x29, [x30, #1536]\n"
	"	cbz x29, 1b\n"
	"	add x29, x30, #768\n"
	"	stp x0, x1, [x29, #0]; stp x2, x3, [x29, #16]; stp x4, x5, [x29, #32]; stp x6, x7, [x29, #48]\n"
	"	stp x8, x9, [x29, #64]; stp x10, x11, [x29, #80]; stp x12, x13, [x29, #96]; stp x14, x15, [x29, #112]\n"
	"	stp x16, x17, [x29, #128]; stp x18, x19, [x29, #144]; stp x20, x21, [x29, #160]\n"
	"	stp x22, x23, [x29, #176]; stp x24, x25, [x29, #192]; stp x26, x27, [x29, #208]; str x28, [x29, #224]\n"
	"	mrs x0, nzcv; str x0, [x29, #232]\n"
	"	mrs x0, fpcr; str x0, [x29, #240]; msr fpcr, xzr\n"
	"	mrs x0, fpsr; str x0, [x29, #248]; msr fpsr, xzr\n"
	"	add x29, x29, #256\n"
	"	st1 {v0.16b-v3.16b}, [x29], #64; st1 {v4.16b-v7.16b}, [x29], #64\n"
	"	st1 {v8.16b-v11.16b}, [x29], #64; st1 {v12.16b-v15.16b}, [x29], #64\n"
	"	st1 {v16.16b-v19.16b}, [x29], #64; st1 {v20.16b-v23.16b}, [x29], #64\n"
	"	st1 {v24.16b-v27.16b}, [x29], #64; st1 {v28.16b-v31.16b}, [x29], #64\n"
	"	ldp x19, x20, [sp, #16]; ldp x21, x22, [sp, #32]; ldp x23, x24, [sp, #48]\n"
	"	ldp x25, x26, [sp, #64]; ldp x27, x28, [sp, #80]\n"
	"	ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]; ldp d12, d13, [sp, #128]; ldp d14, d15, [sp, #144]\n"
	"	ldp x29, x30, [sp], #176\n"
	"	ret\n.size spin,.-spin\n");

static void *run(void *arg)
{
	spin(arg);
	return NULL;
}

static void setup(void)
{
	for (unsigned int i = 0; i < THREADS; i++) {
		struct spinner *s = &spinners[i];

		crt_fill(&s->in, sizeof(s->in), 71 + i);
		s->in.nzcv &= NZCV;
		s->in.nzcv |= 1U << 29;
		s->in.fpcr = FPCR;
		s->in.fpsr = FPSR;
		CRT_SYS(-pthread_create(&s->thread, NULL, run, s));
	}
}

static void verify_one(struct spinner *s, unsigned int number)
{
	s->go = 1;
	pthread_join(s->thread, NULL);
	for (int i = 0; i < 29; i++)
		if (s->out.x[i] != s->in.x[i])
			crt_same((long long)s->out.x[i], (long long)s->in.x[i], "thread %u: x%d", number, i);
	crt_ok(!memcmp(s->in.x, s->out.x, sizeof(s->in.x)), "thread %u: x0 to x28", number);
	crt_same((long long)s->out.nzcv, (long long)s->in.nzcv, "thread %u: flags", number);
	crt_same((long long)s->out.fpcr, (long long)s->in.fpcr, "thread %u: FPCR", number);
	crt_same((long long)s->out.fpsr, (long long)s->in.fpsr, "thread %u: FPSR", number);
	crt_ok(!memcmp(s->in.v, s->out.v, sizeof(s->in.v)), "thread %u: v0 to v31", number);
}

static void verify(void)
{
	for (unsigned int i = 0; i < THREADS; i++)
		verify_one(&spinners[i], i);
}

const struct crt_test crt_test = {
	.text = "general registers, flags, FP/SIMD registers and modes of computing threads",
	.setup = setup,
	.verify = verify,
};
