/* SPDX-License-Identifier: GPL-2.0-only */
/* The registers of x86-64 for regs.h: general ones, flags, XMM/YMM; regs-xsave.c has the others. */
#include <string.h>

#define REGS_SIZE 640

struct regs {
	uint64_t gpr[15];		/* rax rbx rcx* rdx rsi rdi rbp r8 ... r15; *: the code's own */
	uint64_t flags;			/* 120 */
	uint8_t ymm[16][32];		/* 128 */
};

_Static_assert(offsetof(struct regs, ymm) == 128, "known to the assembly");

enum { RAX, RBX, RCX, RDX, RSI, RDI, RBP, R8, R9, R10, R11 };

bool regs_have_avx;			/* not static: named by the assembly */

/* CF PF AF ZF SF DF OF, and the ones that are always set */
#define FLAGS 0x0cd7UL

/*
 * Loads everything from in, does what is in the middle, and stores everything to out. The middle finds where that is
 * on the stack.
 */
#define ROUTINE(name, middle) \
	".text\n.globl " name "\n.type " name ",@function\n" name ":\n" \
	"	pushq %rbx; pushq %rbp; pushq %r12; pushq %r13; pushq %r14; pushq %r15; pushq %rdi\n" \
	"	movq %rdi, %rcx\n" \
	"	cmpb $0, regs_have_avx(%rip)\n" \
	"	je 1f\n" \
	"	leaq 128(%rcx), %rax\n" \
	"	vmovdqu 0(%rax), %ymm0; vmovdqu 32(%rax), %ymm1; vmovdqu 64(%rax), %ymm2; vmovdqu 96(%rax), %ymm3\n" \
	"	vmovdqu 128(%rax), %ymm4; vmovdqu 160(%rax), %ymm5; vmovdqu 192(%rax), %ymm6; vmovdqu 224(%rax), %ymm7\n" \
	"	vmovdqu 256(%rax), %ymm8; vmovdqu 288(%rax), %ymm9; vmovdqu 320(%rax), %ymm10; vmovdqu 352(%rax), %ymm11\n" \
	"	vmovdqu 384(%rax), %ymm12; vmovdqu 416(%rax), %ymm13; vmovdqu 448(%rax), %ymm14; vmovdqu 480(%rax), %ymm15\n" \
	"1:	pushq 120(%rcx)\n" \
	"	movq 0(%rcx), %rax; movq 8(%rcx), %rbx; movq 24(%rcx), %rdx; movq 32(%rcx), %rsi; movq 40(%rcx), %rdi\n" \
	"	movq 48(%rcx), %rbp; movq 56(%rcx), %r8; movq 64(%rcx), %r9; movq 72(%rcx), %r10; movq 80(%rcx), %r11\n" \
	"	movq 88(%rcx), %r12; movq 96(%rcx), %r13; movq 104(%rcx), %r14; movq 112(%rcx), %r15\n" \
	"	popfq\n" \
	middle \
	"	pushfq\n" \
	"	cld\n" \
	"	movq 8(%rsp), %rcx\n" \
	"	popq 640+120(%rcx)\n" \
	"	movq %rax, 640(%rcx); movq %rbx, 648(%rcx); movq %rdx, 664(%rcx); movq %rsi, 672(%rcx); movq %rdi, 680(%rcx)\n" \
	"	movq %rbp, 688(%rcx); movq %r8, 696(%rcx); movq %r9, 704(%rcx); movq %r10, 712(%rcx); movq %r11, 720(%rcx)\n" \
	"	movq %r12, 728(%rcx); movq %r13, 736(%rcx); movq %r14, 744(%rcx); movq %r15, 752(%rcx)\n" \
	"	cmpb $0, regs_have_avx(%rip)\n" \
	"	je 3f\n" \
	"	leaq 640+128(%rcx), %rax\n" \
	"	vmovdqu %ymm0, 0(%rax); vmovdqu %ymm1, 32(%rax); vmovdqu %ymm2, 64(%rax); vmovdqu %ymm3, 96(%rax)\n" \
	"	vmovdqu %ymm4, 128(%rax); vmovdqu %ymm5, 160(%rax); vmovdqu %ymm6, 192(%rax); vmovdqu %ymm7, 224(%rax)\n" \
	"	vmovdqu %ymm8, 256(%rax); vmovdqu %ymm9, 288(%rax); vmovdqu %ymm10, 320(%rax); vmovdqu %ymm11, 352(%rax)\n" \
	"	vmovdqu %ymm12, 384(%rax); vmovdqu %ymm13, 416(%rax); vmovdqu %ymm14, 448(%rax); vmovdqu %ymm15, 480(%rax)\n" \
	"	vzeroupper\n" \
	"3:	popq %rdi; popq %r15; popq %r14; popq %r13; popq %r12; popq %rbp; popq %rbx\n" \
	"	ret\n.size " name ",.-" name "\n"

__asm__(ROUTINE("regs_spin", "2: movq (%rsp), %rcx; movq 1280(%rcx), %rcx; jrcxz 2b\n")
	ROUTINE("regs_call", "	syscall\n"));

static inline void regs_fill(struct regs *regs, unsigned int seed)
{
	regs_have_avx = __builtin_cpu_supports("avx");
	crt_fill(regs, sizeof(*regs), seed);
	regs->flags = FLAGS;
}

static inline void regs_set_call(struct regs *regs, long number, const unsigned long args[6])
{
	static const int where[6] = { RDI, RSI, RDX, R10, R8, R9 };

	regs->gpr[RAX] = (uint64_t)number;
	for (int i = 0; i < 6; i++)
		regs->gpr[where[i]] = args[i];
}

static inline long regs_result(const struct regs *regs)
{
	return (long)regs->gpr[RAX];
}

static inline void regs_verify(const struct regs *in, const struct regs *out, bool called, const char *who)
{
	static const char *const names[15] = { "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8",
					       "r9", "r10", "r11", "r12", "r13", "r14", "r15" };

	for (int i = 0; i < 15; i++)
		if (i != RCX && !(called && (i == RAX || i == R11)))
			crt_same((long long)out->gpr[i], (long long)in->gpr[i], "%s: %s", who, names[i]);
	crt_same((long long)(out->flags & FLAGS), (long long)in->flags, "%s: flags", who);
	if (regs_have_avx)
		crt_ok(!memcmp(in->ymm, out->ymm, sizeof(in->ymm)), "%s: ymm0 to ymm15", who);
}
