// SPDX-License-Identifier: GPL-2.0-only
/* SME: threads in streaming mode, with the ZA array in use, with both, and the second thread pointer. */
#define _GNU_SOURCE
#include "crtest.h"
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#define THREADS 4
#define MAX_VL 256
#define SME_BIT (1UL << 23)		/* of AT_HWCAP2 */
#define SME_SET_VL 63			/* of prctl(2) */
#define SME_GET_VL 64
#define SVCR "S3_3_C4_C2_2"
#define TPIDR2 "S3_3_C13_C0_5"
#define SM 1UL				/* of SVCR */
#define ZA 2UL

struct spinner {
	volatile uint64_t go;
	uint8_t *z, *z_out, *za, *za_out;
	uint64_t mode, mode_out, pointer, pointer_out;
	int vl, vl_after;
	volatile bool is_set_up;
	pthread_t thread;
};

static struct spinner spinners[THREADS];
static uint8_t stores[THREADS][2][32 * MAX_VL], arrays[THREADS][2][MAX_VL * MAX_VL];

#define EACH(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(13) x(14) x(15) \
	x(16) x(17) x(18) x(19) x(20) x(21) x(22) x(23) x(24) x(25) x(26) x(27) x(28) x(29) x(30) x(31)
#define LOAD_Z(n) "ldr z" #n ", [%[z], #" #n ", mul vl]\n"
#define SAVE_Z(n) "str z" #n ", [%[oz], #" #n ", mul vl]\n"
#define ALL_V "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", \
	"v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31"

/* One instruction sequence: a system call or a call of the library would leave streaming mode. */
static void spin(struct spinner *s)
{
	uint64_t seen, length = (uint64_t)s->vl;

	__asm__ volatile(".arch armv8.2-a+sve+sme\n"
			 "msr " SVCR ", %[mode]\n"
			 "msr " TPIDR2 ", %[pointer]\n"
			 "tbz %[mode], #0, 2f\n"
			 EACH(LOAD_Z)
			 "2: tbz %[mode], #1, 4f\n"
			 "mov x12, #0\n"
			 "mov x13, %[za]\n"
			 "3: ldr za[w12, 0], [x13]\n"
			 "add x13, x13, %[length]\n"
			 "add x12, x12, #1\n"
			 "cmp x12, %[length]\n"
			 "b.lo 3b\n"
			 "4: mov %w[seen], #1\n"
			 "strb %w[seen], [%[set_up]]\n"
			 "1: ldr %[seen], [%[go]]\n"
			 "cbz %[seen], 1b\n"
			 "mrs %[mode_out], " SVCR "\n"
			 "mrs %[pointer_out], " TPIDR2 "\n"
			 "tbz %[mode_out], #0, 5f\n"
			 EACH(SAVE_Z)
			 "5: tbz %[mode_out], #1, 7f\n"
			 "mov x12, #0\n"
			 "mov x13, %[oza]\n"
			 "6: str za[w12, 0], [x13]\n"
			 "add x13, x13, %[length]\n"
			 "add x12, x12, #1\n"
			 "cmp x12, %[length]\n"
			 "b.lo 6b\n"
			 "7: msr " SVCR ", xzr\n"
			 "msr " TPIDR2 ", xzr\n"
			 : [seen] "=&r"(seen), [mode_out] "=&r"(s->mode_out), [pointer_out] "=&r"(s->pointer_out)
			 : [z] "r"(s->z), [oz] "r"(s->z_out), [za] "r"(s->za), [oza] "r"(s->za_out), [go] "r"(&s->go),
			   [mode] "r"(s->mode), [pointer] "r"(s->pointer), [length] "r"(length), [set_up] "r"(&s->is_set_up)
			 : "x12", "x13", "cc", "memory", ALL_V);
}

static void *run(void *arg)
{
	struct spinner *s = arg;

	s->vl = prctl(SME_SET_VL, s->vl) & PR_SVE_VL_LEN_MASK;
	spin(s);
	s->vl_after = prctl(SME_GET_VL) & PR_SVE_VL_LEN_MASK;
	return NULL;
}

static void setup(void)
{
	static const uint64_t modes[THREADS] = { SM, ZA, SM | ZA, 0 };
	static const int lengths[THREADS] = { 16, 32, 64, MAX_VL };

	if (!(getauxval(AT_HWCAP2) & SME_BIT))
		crt_skip("no SME");
	for (unsigned int i = 0; i < THREADS; i++) {
		struct spinner *s = &spinners[i];

		s->z = stores[i][0];
		s->z_out = stores[i][1];
		s->za = arrays[i][0];
		s->za_out = arrays[i][1];
		s->mode = modes[i];
		s->vl = lengths[i];
		crt_fill(s->z, sizeof(stores[i][0]), 21 + i);
		crt_fill(s->za, sizeof(arrays[i][0]), 31 + i);
		crt_fill(&s->pointer, sizeof(s->pointer), 51 + i);
		CRT_SYS(-pthread_create(&s->thread, NULL, run, s));
		while (!s->is_set_up)
			crt_sleep_ms(1);
		crt_diag("thread %u: SVCR %llu, %d bits", i, (unsigned long long)s->mode, s->vl * 8);
	}
}

static void verify(void)
{
	for (unsigned int i = 0; i < THREADS; i++) {
		struct spinner *s = &spinners[i];

		s->go = 1;
		pthread_join(s->thread, NULL);
		crt_same((long long)s->mode_out, (long long)s->mode, "thread %u: streaming mode and ZA", i);
		crt_same((long long)s->pointer_out, (long long)s->pointer, "thread %u: second thread pointer", i);
		crt_same(s->vl_after, s->vl, "thread %u: streaming vector length", i);
		if (s->mode & SM)
			crt_ok(!memcmp(s->z, s->z_out, 32 * s->vl), "thread %u: streaming z0 to z31", i);
		if (s->mode & ZA)
			crt_ok(!memcmp(s->za, s->za_out, s->vl * s->vl), "thread %u: ZA", i);
	}
}

const struct crt_test crt_test = {
	.text = "SME state of computing threads",
	.setup = setup,
	.verify = verify,
};
