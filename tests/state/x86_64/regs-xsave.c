// SPDX-License-Identifier: GPL-2.0-only
/* Everything that XSAVE saves: x87, SSE, AVX, AVX-512, protection keys, whatever the CPU has. */
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

static unsigned char *area_in, *area_out;
static unsigned char store[2][16384] __attribute__((aligned(64)));
static uint64_t mask;
static volatile uint64_t go;
static pthread_t thread;

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

static void *spinner(void *arg)
{
	uint32_t lo = (uint32_t)mask, hi = (uint32_t)(mask >> 32);

	(void)arg;
	__asm__ volatile("xrstor64 (%[in])\n"
			 "1: movq %[go], %%rcx\n"
			 "jrcxz 1b\n"
			 "xsave64 (%[out])\n"
			 "fninit\n"
			 :
			 : [in] "r"(area_in), [out] "r"(area_out), [go] "m"(go), "a"(lo), "d"(hi)
			 : "rcx", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
			   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	__builtin_ia32_ldmxcsr(0x1f80);
	return NULL;
}

/* The legacy part: control words that differ from the defaults, ten patterned registers. */
static void fill_legacy(void)
{
	uint16_t fcw = 0x0e7f;				/* rounding towards zero, double precision */
	uint32_t mxcsr = 0x1f80 | 0x8000 | 0x6000;	/* flush to zero, rounding towards zero */

	crt_fill(area_in + 32, 8 * 16, 81);		/* st0 to st7, 10 bytes of each 16 */
	for (int i = 0; i < 8; i++)
		memset(area_in + 32 + i * 16 + 10, 0, 6);
	crt_fill(area_in + 160, 16 * 16, 82);		/* xmm0 to xmm15 */
	memcpy(area_in, &fcw, 2);
	area_in[4] = 0xff;				/* all of st in use */
	memcpy(area_in + 24, &mxcsr, 4);
}

static void setup(void)
{
	uint32_t a, b, c, d, offset, size;

	__cpuid(1, a, b, c, d);
	if (!(c & bit_OSXSAVE))
		crt_skip("no XSAVE");
	area_in = store[0];
	area_out = store[1];
	mask = xgetbv() & (X87 | SSE | AVX | AVX512 | PKRU);
	memcpy(area_in + 512, &mask, 8);		/* XSTATE_BV */
	fill_legacy();
	for (unsigned int n = 2; n < 10; n++) {
		if (!(mask & (1u << n)))
			continue;
		component(n, &offset, &size);
		if (offset + size > sizeof(store[0]))
			crt_die("component %u at %u+%u", n, offset, size);
		if ((1u << n) == PKRU) {
			memset(area_in + offset, 0, size);
			area_in[offset + 1] = 0x30;	/* no access through keys 6 */
		} else {
			crt_fill(area_in + offset, size, n);
		}
	}
	crt_diag("components %#llx", (unsigned long long)mask);
	CRT_SYS(-pthread_create(&thread, NULL, spinner, NULL));
}

static void same(uint32_t offset, uint32_t size, const char *what)
{
	crt_ok(!memcmp(area_in + offset, area_out + offset, size), "%s", what);
}

static void verify(void)
{
	uint32_t offset, size;
	char name[32] = "component 2";

	go = 1;
	pthread_join(thread, NULL);
	same(0, 2, "x87 control word");
	same(24, 4, "MXCSR");
	for (int i = 0; i < 8; i++)
		if (memcmp(area_in + 32 + i * 16, area_out + 32 + i * 16, 10))
			crt_ok(false, "st%d", i);
	crt_same(area_out[4], 0xff, "x87 tags");
	same(160, 256, "xmm0 to xmm15");
	for (unsigned int n = 2; n < 10; n++) {
		if (!(mask & (1u << n)))
			continue;
		component(n, &offset, &size);
		name[10] = (char)('0' + n);
		same(offset, size, name);
	}
}

const struct crt_test crt_test = {
	.text = "all of the extended state of a computing thread",
	.setup = setup,
	.verify = verify,
};
