/* SPDX-License-Identifier: GPL-2.0-only */
/* The registers of aarch64 for regs.h: general ones, flags, FP/SIMD registers and modes. */
#include <string.h>

#define REGS_SIZE 768

struct regs {
	uint64_t x[29];			/* x29 and x30 are the code's own */
	uint64_t nzcv;
	uint64_t fpcr;
	uint64_t fpsr;
	uint8_t v[32][16];
};

_Static_assert(offsetof(struct regs, v) == 256, "known to the assembly");

#define NZCV 0xf0000000UL
#define FPCR 0x07c00000UL	/* rounding towards zero, flush to zero, default NaN, alternative half precision */
#define FPSR 0x0800009fUL	/* all exceptions and saturation have occurred */

/* Loads everything from in, does what is in the middle, and stores everything to out. */
#define ROUTINE(name, middle) \
	".text\n.globl " name "\n.type " name ",@function\n" name ":\n" \
	"	stp x29, x30, [sp, #-176]!\n" \
	"	stp x19, x20, [sp, #16]; stp x21, x22, [sp, #32]; stp x23, x24, [sp, #48]\n" \
	"	stp x25, x26, [sp, #64]; stp x27, x28, [sp, #80]\n" \
	"	stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]; stp d14, d15, [sp, #144]\n" \
	"	mov x30, x0\n" \
	"	add x29, x30, #256\n" \
	"	ld1 {v0.16b-v3.16b}, [x29], #64; ld1 {v4.16b-v7.16b}, [x29], #64\n" \
	"	ld1 {v8.16b-v11.16b}, [x29], #64; ld1 {v12.16b-v15.16b}, [x29], #64\n" \
	"	ld1 {v16.16b-v19.16b}, [x29], #64; ld1 {v20.16b-v23.16b}, [x29], #64\n" \
	"	ld1 {v24.16b-v27.16b}, [x29], #64; ld1 {v28.16b-v31.16b}, [x29], #64\n" \
	"	ldr x29, [x30, #232]; msr nzcv, x29\n" \
	"	ldr x29, [x30, #240]; msr fpcr, x29\n" \
	"	ldr x29, [x30, #248]; msr fpsr, x29\n" \
	"	ldp x0, x1, [x30, #0]; ldp x2, x3, [x30, #16]; ldp x4, x5, [x30, #32]; ldp x6, x7, [x30, #48]\n" \
	"	ldp x8, x9, [x30, #64]; ldp x10, x11, [x30, #80]; ldp x12, x13, [x30, #96]; ldp x14, x15, [x30, #112]\n" \
	"	ldp x16, x17, [x30, #128]; ldp x18, x19, [x30, #144]; ldp x20, x21, [x30, #160]\n" \
	"	ldp x22, x23, [x30, #176]; ldp x24, x25, [x30, #192]; ldp x26, x27, [x30, #208]; ldr x28, [x30, #224]\n" \
	middle \
	"	add x29, x30, #768\n" \
	"	stp x0, x1, [x29, #0]; stp x2, x3, [x29, #16]; stp x4, x5, [x29, #32]; stp x6, x7, [x29, #48]\n" \
	"	stp x8, x9, [x29, #64]; stp x10, x11, [x29, #80]; stp x12, x13, [x29, #96]; stp x14, x15, [x29, #112]\n" \
	"	stp x16, x17, [x29, #128]; stp x18, x19, [x29, #144]; stp x20, x21, [x29, #160]\n" \
	"	stp x22, x23, [x29, #176]; stp x24, x25, [x29, #192]; stp x26, x27, [x29, #208]; str x28, [x29, #224]\n" \
	"	mrs x0, nzcv; str x0, [x29, #232]\n" \
	"	mrs x0, fpcr; str x0, [x29, #240]; msr fpcr, xzr\n" \
	"	mrs x0, fpsr; str x0, [x29, #248]; msr fpsr, xzr\n" \
	"	add x29, x29, #256\n" \
	"	st1 {v0.16b-v3.16b}, [x29], #64; st1 {v4.16b-v7.16b}, [x29], #64\n" \
	"	st1 {v8.16b-v11.16b}, [x29], #64; st1 {v12.16b-v15.16b}, [x29], #64\n" \
	"	st1 {v16.16b-v19.16b}, [x29], #64; st1 {v20.16b-v23.16b}, [x29], #64\n" \
	"	st1 {v24.16b-v27.16b}, [x29], #64; st1 {v28.16b-v31.16b}, [x29], #64\n" \
	"	ldp x19, x20, [sp, #16]; ldp x21, x22, [sp, #32]; ldp x23, x24, [sp, #48]\n" \
	"	ldp x25, x26, [sp, #64]; ldp x27, x28, [sp, #80]\n" \
	"	ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]; ldp d12, d13, [sp, #128]; ldp d14, d15, [sp, #144]\n" \
	"	ldp x29, x30, [sp], #176\n" \
	"	ret\n.size " name ",.-" name "\n"

__asm__(ROUTINE("regs_spin", "1:	ldr x29, [x30, #1536]\n cbz x29, 1b\n")
	ROUTINE("regs_call", "	svc #0\n"));

static inline void regs_fill(struct regs *regs, unsigned int seed)
{
	crt_fill(regs, sizeof(*regs), seed);
	regs->nzcv &= NZCV;
	regs->nzcv |= 1U << 29;
	regs->fpcr = FPCR;
	regs->fpsr = FPSR;
}

static inline void regs_set_call(struct regs *regs, long number, const unsigned long args[6])
{
	memcpy(regs->x, args, 6 * sizeof(args[0]));
	regs->x[8] = (uint64_t)number;
}

static inline long regs_result(const struct regs *regs)
{
	return (long)regs->x[0];
}

/* A call may change x0; one that goes on with what remains of its time is another one for the kernel, with its number. */
static inline bool regs_kept(int number, bool called)
{
	return !called || (number != 0 && number != 8);
}

static inline void regs_verify(const struct regs *in, const struct regs *out, bool called, const char *who)
{
	bool same = true;

	for (int i = 0; i < 29; i++)
		if (regs_kept(i, called) && out->x[i] != in->x[i])
			same = crt_same((long long)out->x[i], (long long)in->x[i], "%s: x%d", who, i);
	crt_ok(same, "%s: x%d to x28", who, called ? 1 : 0);
	crt_same((long long)out->nzcv, (long long)in->nzcv, "%s: flags", who);
	crt_same((long long)out->fpcr, (long long)in->fpcr, "%s: FPCR", who);
	crt_same((long long)out->fpsr, (long long)in->fpsr, "%s: FPSR", who);
	crt_ok(!memcmp(in->v, out->v, sizeof(in->v)), "%s: v0 to v31", who);
}
