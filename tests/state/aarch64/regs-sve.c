// SPDX-License-Identifier: GPL-2.0-only
/* SVE: vectors, predicates and the first-fault register, with another vector length in each thread. */
#define _GNU_SOURCE
#include "crtest.h"
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#define THREADS 4
#define MAX_VL 256

/* The assembly knows these offsets. */
struct regs {
	uint8_t z[32 * MAX_VL];		/* 0 */
	uint8_t p[17 * MAX_VL / 8];	/* 8192: p0 to p15, FFR */
};

struct spinner {
	volatile uint64_t go;
	struct regs *in, *out;
	int asked, vl;			/* bytes */
	pthread_t thread;
	int vl_after;
	bool is_set_up;
};

static struct spinner spinners[THREADS];
static struct regs stores[THREADS][2];

#define SVE ".arch_extension sve\n"
#define EACH(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(13) x(14) x(15)
#define HIGH(x) x(16) x(17) x(18) x(19) x(20) x(21) x(22) x(23) x(24) x(25) x(26) x(27) x(28) x(29) x(30) x(31)
#define LOAD_Z(n) "ldr z" #n ", [%[z], #" #n ", mul vl]\n"
#define LOAD_P(n) "ldr p" #n ", [%[p], #" #n ", mul vl]\n"
#define SAVE_Z(n) "str z" #n ", [%[oz], #" #n ", mul vl]\n"
#define SAVE_P(n) "str p" #n ", [%[op], #" #n ", mul vl]\n"
#define ALL_V "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", \
	"v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31"

static void spin(struct spinner *s)
{
	uint64_t seen;

	__asm__ volatile(SVE
			 "ldr p0, [%[p], #16, mul vl]\n"
			 "wrffr p0.b\n"
			 EACH(LOAD_P) EACH(LOAD_Z) HIGH(LOAD_Z)
			 "1: ldr %[seen], [%[go]]\n"
			 "cbz %[seen], 1b\n"
			 EACH(SAVE_P) EACH(SAVE_Z) HIGH(SAVE_Z)
			 "rdffr p0.b\n"
			 "str p0, [%[op], #16, mul vl]\n"
			 : [seen] "=&r"(seen)
			 : [z] "r"(s->in->z), [p] "r"(s->in->p), [oz] "r"(s->out->z), [op] "r"(s->out->p), [go] "r"(&s->go)
			 : "memory", ALL_V);
}

static void *run(void *arg)
{
	struct spinner *s = arg;

	s->vl = prctl(PR_SVE_SET_VL, s->asked | PR_SVE_VL_INHERIT) & PR_SVE_VL_LEN_MASK;
	/* FFR has to be a run of ones from the first element on. */
	memset(s->in->p + 16 * s->vl / 8, 0, s->vl / 8);
	s->in->p[16 * s->vl / 8] = 0x0f;
	__atomic_store_n(&s->is_set_up, true, __ATOMIC_RELEASE);
	spin(s);
	s->vl_after = prctl(PR_SVE_GET_VL);
	return NULL;
}

static void setup(void)
{
	static const int lengths[THREADS] = { 16, 32, 64, MAX_VL };

	if (!(getauxval(AT_HWCAP) & HWCAP_SVE))
		crt_skip("no SVE");
	for (unsigned int i = 0; i < THREADS; i++) {
		struct spinner *s = &spinners[i];

		s->in = &stores[i][0];
		s->out = &stores[i][1];
		s->asked = lengths[i];
		crt_fill(s->in, sizeof(*s->in), 41 + i);
		CRT_SYS(-pthread_create(&s->thread, NULL, run, s));
		while (!__atomic_load_n(&s->is_set_up, __ATOMIC_ACQUIRE))
			crt_sleep_ms(1);
		crt_diag("thread %u: %d bits", i, s->vl * 8);
	}
}

static void verify(void)
{
	for (unsigned int i = 0; i < THREADS; i++) {
		struct spinner *s = &spinners[i];

		s->go = 1;
		pthread_join(s->thread, NULL);
		crt_ok(!memcmp(s->in->z, s->out->z, 32 * s->vl), "thread %u: z0 to z31", i);
		crt_ok(!memcmp(s->in->p, s->out->p, 16 * s->vl / 8), "thread %u: p0 to p15", i);
		crt_ok(!memcmp(s->in->p + 16 * s->vl / 8, s->out->p + 16 * s->vl / 8, s->vl / 8), "thread %u: FFR", i);
		crt_same(s->vl_after, s->vl | PR_SVE_VL_INHERIT, "thread %u: vector length", i);
	}
}

const struct crt_test crt_test = {
	.text = "SVE registers and vector lengths of computing threads",
	.setup = setup,
	.verify = verify,
};
