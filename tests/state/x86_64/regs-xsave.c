// SPDX-License-Identifier: GPL-2.0-only
/* Everything that XSAVE saves: x87, SSE, AVX, AVX-512, protection keys, whatever the CPU has, in four threads. */
#define _GNU_SOURCE
#include "crtest.h"
#include <cpuid.h>
#include <pthread.h>
#include <string.h>

#define X87 (1u << 0)
#define SSE (1u << 1)
#define AVX (1u << 2)
#define AVX512 (7u << 5)
#define PKRU (1u << 9)

#define THREADS 4
#define AREA 16384

struct spinner {
	unsigned char in[AREA], out[AREA];
	pthread_t thread;
} __attribute__((aligned(64)));

static struct spinner spinners[THREADS];
static uint64_t mask;
static volatile uint64_t go;

static uint64_t xgetbv(void)
{
	uint32_t lo, hi;

	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return ((uint64_t)hi << 32) | lo;
}

static void component(unsigned int n, uint32_t *offset, uint32_t *size)
{
	uint32_t c, d;

	__cpuid_count(0xd, n, *size, *offset, c, d);
}

static void *spin(void *arg)
{
	struct spinner *s = arg;
	uint32_t lo = (uint32_t)mask, hi = (uint32_t)(mask >> 32);

	__asm__ volatile("xrstor64 (%[in])\n"
			 "1: movq %[go], %%rcx\n"
			 "jrcxz 1b\n"
			 "xsave64 (%[out])\n"
			 "fninit\n"
			 :
			 : [in] "r"(s->in), [out] "r"(s->out), [go] "m"(go), "a"(lo), "d"(hi)
			 : "rcx", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
			   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	__builtin_ia32_ldmxcsr(0x1f80);
	return NULL;
}

/* The legacy part: control words that differ from the defaults, ten patterned registers. */
static void fill_legacy(unsigned char *in, unsigned int seed)
{
	uint16_t fcw = 0x0e7f;				/* rounding towards zero, double precision */
	uint32_t mxcsr = 0x1f80 | 0x8000 | 0x6000;	/* flush to zero, rounding towards zero */

	crt_fill(in + 32, 8 * 16, seed + 1);		/* st0 to st7, 10 bytes of each 16 */
	for (int i = 0; i < 8; i++)
		memset(in + 32 + i * 16 + 10, 0, 6);
	crt_fill(in + 160, 16 * 16, seed + 2);		/* xmm0 to xmm15 */
	memcpy(in, &fcw, 2);
	in[4] = 0xff;					/* all of st in use */
	memcpy(in + 24, &mxcsr, 4);
}

static void fill(unsigned char *in, unsigned int seed)
{
	uint32_t offset, size;

	memcpy(in + 512, &mask, 8);			/* XSTATE_BV */
	fill_legacy(in, seed);
	for (unsigned int n = 2; n < 10; n++) {
		if (!(mask & (1u << n)))
			continue;
		component(n, &offset, &size);
		if (offset + size > AREA)
			crt_die("component %u at %u+%u", n, offset, size);
		if ((1u << n) == PKRU) {
			memset(in + offset, 0, size);
			in[offset + 1] = 0x30;		/* no access through keys 6 */
		} else {
			crt_fill(in + offset, size, seed + n);
		}
	}
}

static void setup(void)
{
	uint32_t a, b, c, d;

	__cpuid(1, a, b, c, d);
	if (!(c & bit_OSXSAVE))
		crt_skip("no XSAVE");
	mask = xgetbv() & (X87 | SSE | AVX | AVX512 | PKRU);
	crt_diag("components %#llx", (unsigned long long)mask);
	for (unsigned int i = 0; i < THREADS; i++) {
		fill(spinners[i].in, 80 + 20 * i);
		CRT_SYS(-pthread_create(&spinners[i].thread, NULL, spin, &spinners[i]));
	}
}

static void verify_one(const struct spinner *s, unsigned int number)
{
	uint32_t offset, size;

	crt_ok(!memcmp(s->in, s->out, 2), "thread %u: x87 control word", number);
	crt_ok(!memcmp(s->in + 24, s->out + 24, 4), "thread %u: MXCSR", number);
	for (int i = 0; i < 8; i++)
		if (memcmp(s->in + 32 + i * 16, s->out + 32 + i * 16, 10))
			crt_ok(false, "thread %u: st%d", number, i);
	crt_same(s->out[4], 0xff, "thread %u: x87 tags", number);
	crt_ok(!memcmp(s->in + 160, s->out + 160, 256), "thread %u: xmm0 to xmm15", number);
	for (unsigned int n = 2; n < 10; n++) {
		if (!(mask & (1u << n)))
			continue;
		component(n, &offset, &size);
		crt_ok(!memcmp(s->in + offset, s->out + offset, size), "thread %u: component %u", number, n);
	}
}

static void verify(void)
{
	go = 1;
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(spinners[i].thread, NULL);
		verify_one(&spinners[i], i);
	}
}

const struct crt_test crt_test = {
	.text = "all of the extended state of computing threads",
	.setup = setup,
	.verify = verify,
};
