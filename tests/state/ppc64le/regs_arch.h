/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The registers of ppc64le for regs.h: general ones, the condition register, vectors and their modes, and those for
 * targets and data streams.
 */
#include <string.h>
#include <sys/auxv.h>

#define REGS_SIZE 1392

struct regs {
	uint64_t r[32];			/* 0: but for r1, r2, r13, and r30 and r31, which are the code's own */
	uint64_t lr;			/* 256 */
	uint64_t ctr;			/* 264 */
	uint64_t cr;			/* 272 */
	uint64_t xer;			/* 280 */
	uint64_t fpscr;			/* 288 */
	uint64_t vrsave;		/* 296 */
	uint64_t tar;			/* 304 */
	uint64_t dscr;			/* 312 */
	uint32_t vscr[4];		/* 320 */
	uint64_t vectored;		/* 336: by which instruction regs_call() calls, sc or scv */
	uint64_t ebbhr;			/* 344: with the next two, for event-based branches */
	uint64_t ebbrr;			/* 352 */
	uint64_t bescr;			/* 360 */
	uint8_t vs[64][16];		/* 368: of which f0 to f31 and v0 to v31 are parts */
} __attribute__((aligned(16)));

_Static_assert(offsetof(struct regs, vs) == 368, "known to the assembly");

#define CR 0xfffffff0UL		/* the last field is the code's own */
#define CR_CALLED 0x0ffffff0UL	/* the first one tells of an error */
#define CR_VECTORED 0x00fff000UL /* as of a function */
#define XER 0xa0000000UL	/* summary overflow, carry */
#define FPSCR 0x82000001UL	/* inexact result; rounding towards zero */
#define BESCR 1UL		/* an event has occurred; branches are not enabled */
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

/* Loads everything from in, does what is in the middle, and stores everything to out. */
#define ROUTINE(name, middle) \
	".text\n.globl " name "\n.type " name ",@function\n" name ":\n" \
	"mflr 0\nstd 0, 16(1)\nmfcr 0\nstw 0, 8(1)\nstdu 1, -560(1)\n" \
	SAVED(SAVE_R) SAVED(SAVE_F) \
	"addi 4, 1, 320\n" SAVED_V(STORE_VS) \
	"mr 31, 3\n" \
	"lfd 0, 288(31)\nmtfsf 255, 0\n" \
	"ld 0, 296(31)\nmtspr 256, 0\n" \
	"ld 0, 304(31)\nmtspr 815, 0\n" \
	"ld 0, 312(31)\nmtspr 3, 0\n" \
	"ld 0, 344(31)\nmtspr 804, 0\nld 0, 352(31)\nmtspr 805, 0\nld 0, 360(31)\nmtspr 806, 0\n" \
	"addi 30, 31, 320\nlvx 0, 0, 30\nmtvscr 0\n" \
	"addi 30, 31, 368\n" ALL_VS(LOAD_VS) \
	"ld 0, 256(31)\nmtlr 0\nld 0, 264(31)\nmtctr 0\nld 0, 280(31)\nmtxer 0\nld 0, 272(31)\nmtcr 0\n" \
	"ld 0, 0(31)\n" OTHER_R(LOAD_R) \
	middle \
	"addi 30, 31, 1392\n" \
	"std 0, 0(30)\n" OTHER_R(STORE_R) \
	"mfcr 3\nstd 3, 272(30)\nmfxer 3\nstd 3, 280(30)\nmflr 3\nstd 3, 256(30)\nmfctr 3\nstd 3, 264(30)\n" \
	"mfspr 3, 256\nstd 3, 296(30)\nmfspr 3, 815\nstd 3, 304(30)\nmfspr 3, 3\nstd 3, 312(30)\n" \
	"mfspr 3, 804\nstd 3, 344(30)\nmfspr 3, 805\nstd 3, 352(30)\nmfspr 3, 806\nstd 3, 360(30)\n" \
	"ld 3, 336(31)\nstd 3, 336(30)\n" \
	"addi 4, 30, 368\n" ALL_VS(STORE_VS) \
	"mffs 0\nstfd 0, 288(30)\n" \
	"addi 4, 30, 320\nmfvscr 0\nstvx 0, 0, 4\n" \
	"xxlxor 0, 0, 0\nmtfsf 255, 0\nvxor 0, 0, 0\nmtvscr 0\n" \
	"addi 4, 1, 320\n" SAVED_V(BACK_VS) \
	SAVED(BACK_F) SAVED(BACK_R) \
	"addi 1, 1, 560\nlwz 0, 8(1)\nmtcr 0\nld 0, 16(1)\nmtlr 0\nblr\n" \
	".size " name ",.-" name "\n"

__asm__(".machine power9\n"
	ROUTINE("regs_spin", "1: ld 30, 2784(31)\ncmpdi 7, 30, 0\nbeq 7, 1b\n")
	ROUTINE("regs_call", "ld 30, 336(31)\ncmpdi 7, 30, 0\nbne 7, 1f\nsc\nb 2f\n1: scv 0\n2:\n"));

static inline void regs_fill(struct regs *regs, unsigned int seed)
{
	crt_fill(regs, sizeof(*regs), seed);
	regs->cr &= CR;
	regs->xer = XER;
	regs->fpscr = FPSCR;
	regs->vrsave &= 0xffffffffUL;
	regs->dscr = 0x41 + seed % 16;
	regs->vectored = 0;
	regs->ebbhr &= ~3UL;
	regs->ebbrr &= ~3UL;
	regs->bescr = BESCR;
	memset(regs->vscr, 0, sizeof(regs->vscr));
	regs->vscr[0] = VSCR;
}

static inline void regs_set_call(struct regs *regs, long number, const unsigned long args[6])
{
	regs->r[0] = (uint64_t)number;
	memcpy(regs->r + 3, args, 6 * sizeof(args[0]));
}

#define REGS_WAYS 2
#define SCV_BIT (1UL << 20)		/* of AT_HWCAP2 */

static inline unsigned int regs_ways(void)
{
	return getauxval(AT_HWCAP2) & SCV_BIT ? 2 : 1;
}

static inline void regs_set_way(struct regs *regs, unsigned int way)
{
	regs->vectored = way;
}

static inline const char *regs_way(const struct regs *regs)
{
	return regs->vectored ? " by scv" : " by sc";
}

static inline long regs_result(const struct regs *regs)
{
	if (regs->vectored)
		return (long)regs->r[3];
	return regs->cr & 0x10000000 ? -(long)regs->r[3] : (long)regs->r[3];
}

/* A call may change r0, r3 to r12, CTR and XER; scv is like the call of a function. */
static inline bool regs_kept(int number, bool called)
{
	if (number == 1 || number == 2 || number == 13 || number >= 30)
		return false;
	return !called || number > 13;
}

static inline void regs_verify_general(const struct regs *in, const struct regs *out, bool called, const char *who)
{
	uint64_t cr = !called ? CR : in->vectored ? CR_VECTORED : CR_CALLED;
	bool same = true;

	for (int i = 0; i < 32; i++)
		if (regs_kept(i, called) && out->r[i] != in->r[i])
			same = crt_same((long long)out->r[i], (long long)in->r[i], "%s: r%d", who, i);
	crt_ok(same, "%s: r%d to r29", who, called ? 14 : 0);
	if (!called || !in->vectored)
		crt_same((long long)out->lr, (long long)in->lr, "%s: link register", who);
	crt_same((long long)(out->cr & cr), (long long)(in->cr & cr), "%s: condition register", who);
	if (called)
		return;
	crt_same((long long)out->ctr, (long long)in->ctr, "%s: count register", who);
	crt_same((long long)(out->xer & 0xe0000000), (long long)in->xer, "%s: XER", who);
}

static inline void regs_verify(const struct regs *in, const struct regs *out, bool called, const char *who)
{
	regs_verify_general(in, out, called, who);
	crt_same((long long)out->fpscr, (long long)in->fpscr, "%s: FPSCR", who);
	crt_same((long long)out->vrsave, (long long)in->vrsave, "%s: VRSAVE", who);
	crt_same((long long)out->tar, (long long)in->tar, "%s: TAR", who);
	crt_same((long long)out->dscr, (long long)in->dscr, "%s: DSCR", who);
	crt_ok(out->ebbhr == in->ebbhr && out->ebbrr == in->ebbrr && out->bescr == in->bescr,
	       "%s: EBBHR, EBBRR, BESCR (%llx, %llx, %llx)", who, (long long)out->ebbhr,
	       (long long)out->ebbrr, (long long)out->bescr);
	crt_same(out->vscr[0], in->vscr[0], "%s: VSCR", who);
	crt_ok(!memcmp(in->vs, out->vs, sizeof(in->vs)), "%s: vs0 to vs63", who);
}
