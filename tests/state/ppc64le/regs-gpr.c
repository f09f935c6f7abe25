// SPDX-License-Identifier: GPL-2.0-only
/*
 * All general registers, the condition register, vectors and their modes, and the registers for targets and data
 * streams hold patterns while four threads spin.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <pthread.h>
#include <string.h>

#define THREADS 4

/* The assembly knows these offsets. */
struct regs {
	uint64_t r[32];			/* 0: but for r1, r2, r13, and r30 and r31, which are the spinner's own */
	uint64_t lr;			/* 256 */
	uint64_t ctr;			/* 264 */
	uint64_t cr;			/* 272 */
	uint64_t xer;			/* 280 */
	uint64_t fpscr;			/* 288 */
	uint64_t vrsave;		/* 296 */
	uint64_t tar;			/* 304 */
	uint64_t dscr;			/* 312 */
	uint32_t vscr[4];		/* 320 */
	uint64_t pad[2];
	uint8_t vs[64][16];		/* 352: of which f0 to f31 and v0 to v31 are parts */
} __attribute__((aligned(16)));

struct spinner {
	struct regs in;			/* 0 */
	struct regs out;		/* 1376 */
	volatile uint64_t go;		/* 2752 */
	pthread_t thread;
};

_Static_assert(sizeof(struct regs) == 1376 && offsetof(struct regs, vs) == 352, "known to the assembly");
_Static_assert(offsetof(struct spinner, go) == 2752, "known to the assembly");

static struct spinner spinners[THREADS];

#define CR 0xfffffff0UL		/* the last field is the spinner's own */
#define XER 0xa0000000UL	/* summary overflow, carry */
#define FPSCR 0x82000001UL	/* inexact result; rounding towards zero */
#define VSCR 0x00010001U	/* no denormalized numbers; saturated */

#define OTHER_R(x) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(14) x(15) x(16) x(17) x(18) x(19) x(20) \
	x(21) x(22) x(23) x(24) x(25) x(26) x(27) x(28) x(29)
#define SAVED(x) x(14) x(15) x(16) x(17) x(18) x(19) x(20) x(21) x(22) x(23) x(24) x(25) x(26) x(27) x(28) x(29) \
	x(30) x(31)
#define SAVED_V(x) x(52) x(53) x(54) x(55) x(56) x(57) x(58) x(59) x(60) x(61) x(62) x(63)
#define ALL_VS(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(13) x(14) x(15) \
	x(16) x(17) x(18) x(19) x(20) x(21) x(22) x(23) x(24) x(25) x(26) x(27) x(28) x(29) x(30) x(31) \
	x(32) x(33) x(34) x(35) x(36) x(37) x(38) x(39) x(40) x(41) x(42) x(43) x(44) x(45) x(46) x(47) \
	x(48) x(49) x(50) x(51) x(52) x(53) x(54) x(55) x(56) x(57) x(58) x(59) x(60) x(61) x(62) x(63)
#define SAVE_R(n) "std " #n ", 32+8*(" #n "-14)(1)\n"
#define BACK_R(n) "ld " #n ", 32+8*(" #n "-14)(1)\n"
#define SAVE_F(n) "stfd " #n ", 176+8*(" #n "-14)(1)\n"
#define BACK_F(n) "lfd " #n ", 176+8*(" #n "-14)(1)\n"
#define LOAD_VS(n) "lxvd2x " #n ", 0, 30\naddi 30, 30, 16\n"
#define STORE_VS(n) "stxvd2x " #n ", 0, 4\naddi 4, 4, 16\n"
#define BACK_VS(n) "lxvd2x " #n ", 0, 4\naddi 4, 4, 16\n"
#define LOAD_R(n) "ld " #n ", 8*" #n "(31)\n"
#define STORE_R(n) "std " #n ", 8*" #n "(30)\n"

/*
 * Loads everything from in, spins until go is not 0 without an instruction that changes any register but r30 and
 * the last field of the condition register, and stores everything to out.
 */
void spin(struct spinner *spinner);
__asm__(
	".machine power8\n"
	".text\n.globl spin\n.type spin,@function\nspin:\n"
	"mflr 0\nstd 0, 16(1)\nmfcr 0\nstw 0, 8(1)\nstdu 1, -560(1)\n"
	SAVED(SAVE_R) SAVED(SAVE_F)
	"addi 4, 1, 320\n" SAVED_V(STORE_VS)
	"mr 31, 3\n"
	"lfd 0, 288(31)\nmtfsf 255, 0\n"
	"ld 0, 296(31)\nmtspr 256, 0\n"
	"ld 0, 304(31)\nmtspr 815, 0\n"
	"ld 0, 312(31)\nmtspr 3, 0\n"
	"addi 30, 31, 320\nlvx 0, 0, 30\nmtvscr 0\n"
	"addi 30, 31, 352\n" ALL_VS(LOAD_VS)
	"ld 0, 256(31)\nmtlr 0\nld 0, 264(31)\nmtctr 0\nld 0, 280(31)\nmtxer 0\nld 0, 272(31)\nmtcr 0\n"
	"ld 0, 0(31)\n" OTHER_R(LOAD_R)
	"1: ld 30, 2752(31)\n"
	"cmpdi 7, 30, 0\n"
	"beq 7, 1b\n"
	"addi 30, 31, 1376\n"
	"std 0, 0(30)\n" OTHER_R(STORE_R)
	"mfcr 3\nstd 3, 272(30)\nmfxer 3\nstd 3, 280(30)\nmflr 3\nstd 3, 256(30)\nmfctr 3\nstd 3, 264(30)\n"
	"mfspr 3, 256\nstd 3, 296(30)\nmfspr 3, 815\nstd 3, 304(30)\nmfspr 3, 3\nstd 3, 312(30)\n"
	"addi 4, 30, 352\n" ALL_VS(STORE_VS)
	"mffs 0\nstfd 0, 288(30)\n"
	"addi 4, 30, 320\nmfvscr 0\nstvx 0, 0, 4\n"
	"xxlxor 0, 0, 0\nmtfsf 255, 0\nvxor 0, 0, 0\nmtvscr 0\n"
	"addi 4, 1, 320\n" SAVED_V(BACK_VS)
	SAVED(BACK_F) SAVED(BACK_R)
	"addi 1, 1, 560\nlwz 0, 8(1)\nmtcr 0\nld 0, 16(1)\nmtlr 0\nblr\n"
	".size spin,.-spin\n");

static void *run(void *arg)
{
	spin(arg);
	return NULL;
}

static void setup(void)
{
	for (unsigned int i = 0; i < THREADS; i++) {
		struct spinner *s = &spinners[i];

		crt_fill(&s->in, sizeof(s->in), 81 + i);
		s->in.cr &= CR;
		s->in.xer = XER;
		s->in.fpscr = FPSCR;
		s->in.vrsave &= 0xffffffffUL;
		s->in.dscr = 0x41 + i;
		memset(s->in.vscr, 0, sizeof(s->in.vscr));
		s->in.vscr[0] = VSCR;
		CRT_SYS(-pthread_create(&s->thread, NULL, run, s));
	}
}

static void verify_one(struct spinner *s, unsigned int number)
{
	static const int own[] = { 1, 2, 13, 30, 31 };

	s->go = 1;
	pthread_join(s->thread, NULL);
	for (unsigned int i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		s->out.r[own[i]] = s->in.r[own[i]];
	for (int i = 0; i < 32; i++)
		if (s->out.r[i] != s->in.r[i])
			crt_same((long long)s->out.r[i], (long long)s->in.r[i], "thread %u: r%d", number, i);
	crt_ok(!memcmp(s->in.r, s->out.r, sizeof(s->in.r)), "thread %u: r0 to r29", number);
	crt_same((long long)s->out.lr, (long long)s->in.lr, "thread %u: link register", number);
	crt_same((long long)s->out.ctr, (long long)s->in.ctr, "thread %u: count register", number);
	crt_same((long long)(s->out.cr & CR), (long long)s->in.cr, "thread %u: condition register", number);
	crt_same((long long)(s->out.xer & 0xe0000000), (long long)s->in.xer, "thread %u: XER", number);
	crt_same((long long)s->out.fpscr, (long long)s->in.fpscr, "thread %u: FPSCR", number);
	crt_same((long long)s->out.vrsave, (long long)s->in.vrsave, "thread %u: VRSAVE", number);
	crt_same((long long)s->out.tar, (long long)s->in.tar, "thread %u: TAR", number);
	crt_same((long long)s->out.dscr, (long long)s->in.dscr, "thread %u: DSCR", number);
	crt_same(s->out.vscr[0], s->in.vscr[0], "thread %u: VSCR", number);
	crt_ok(!memcmp(s->in.vs, s->out.vs, sizeof(s->in.vs)), "thread %u: vs0 to vs63", number);
}

static void verify(void)
{
	for (unsigned int i = 0; i < THREADS; i++)
		verify_one(&spinners[i], i);
}

const struct crt_test crt_test = {
	.text = "general, vector and special registers of computing threads",
	.setup = setup,
	.verify = verify,
};
