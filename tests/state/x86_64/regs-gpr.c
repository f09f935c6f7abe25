// SPDX-License-Identifier: GPL-2.0-only
/* All general registers, the flags, and all of XMM/YMM hold patterns while the program spins. */
#define _GNU_SOURCE
#include "crtest.h"
#include <pthread.h>
#include <string.h>

struct regs {
	uint64_t gpr[15];		/* rax rbx rcx* rdx rsi rdi rbp r8 ... r15; *: the spinner's own */
	uint64_t flags;
	uint8_t ymm[16][32];
};

struct regs in, out;			/* not static: named by the assembly */
volatile uint64_t go;
bool have_avx;

/* CF PF AF ZF SF DF OF, and the ones that are always set */
#define FLAGS 0x0cd7UL

/*
 * Loads everything from in, spins until go is not 0 without an instruction that changes a flag
 * or any register but rcx, and stores everything to out.
 */
void spin(void);
__asm__(
	".text\n.globl spin\n.type spin,@function\nspin:\n"
	"	pushq %rbx; pushq %rbp; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n"
	"	cmpb $0, have_avx(%rip)\n"
	"	je 1f\n"
	"	leaq in+128(%rip), %rax\n"
	"	vmovdqu 0(%rax), %ymm0; vmovdqu 32(%rax), %ymm1; vmovdqu 64(%rax), %ymm2; vmovdqu 96(%rax), %ymm3\n"
	"	vmovdqu 128(%rax), %ymm4; vmovdqu 160(%rax), %ymm5; vmovdqu 192(%rax), %ymm6; vmovdqu 224(%rax), %ymm7\n"
	"	vmovdqu 256(%rax), %ymm8; vmovdqu 288(%rax), %ymm9; vmovdqu 320(%rax), %ymm10; vmovdqu 352(%rax), %ymm11\n"
	"	vmovdqu 384(%rax), %ymm12; vmovdqu 416(%rax), %ymm13; vmovdqu 448(%rax), %ymm14; vmovdqu 480(%rax), %ymm15\n"
	"1:	pushq in+120(%rip)\n"
	"	movq in+0(%rip), %rax; movq in+8(%rip), %rbx; movq in+24(%rip), %rdx; movq in+32(%rip), %rsi\n"
	"	movq in+40(%rip), %rdi; movq in+48(%rip), %rbp; movq in+56(%rip), %r8; movq in+64(%rip), %r9\n"
	"	movq in+72(%rip), %r10; movq in+80(%rip), %r11; movq in+88(%rip), %r12; movq in+96(%rip), %r13\n"
	"	movq in+104(%rip), %r14; movq in+112(%rip), %r15\n"
	"	popfq\n"
	"2:	movq go(%rip), %rcx\n"
	"	jrcxz 2b\n"
	"	pushfq\n"
	"	cld\n"
	"	popq out+120(%rip)\n"
	"	movq %rax, out+0(%rip); movq %rbx, out+8(%rip); movq %rdx, out+24(%rip); movq %rsi, out+32(%rip)\n"
	"	movq %rdi, out+40(%rip); movq %rbp, out+48(%rip); movq %r8, out+56(%rip); movq %r9, out+64(%rip)\n"
	"	movq %r10, out+72(%rip); movq %r11, out+80(%rip); movq %r12, out+88(%rip); movq %r13, out+96(%rip)\n"
	"	movq %r14, out+104(%rip); movq %r15, out+112(%rip)\n"
	"	cmpb $0, have_avx(%rip)\n"
	"	je 3f\n"
	"	leaq out+128(%rip), %rax\n"
	"	vmovdqu %ymm0, 0(%rax); vmovdqu %ymm1, 32(%rax); vmovdqu %ymm2, 64(%rax); vmovdqu %ymm3, 96(%rax)\n"
	"	vmovdqu %ymm4, 128(%rax); vmovdqu %ymm5, 160(%rax); vmovdqu %ymm6, 192(%rax); vmovdqu %ymm7, 224(%rax)\n"
	"	vmovdqu %ymm8, 256(%rax); vmovdqu %ymm9, 288(%rax); vmovdqu %ymm10, 320(%rax); vmovdqu %ymm11, 352(%rax)\n"
	"	vmovdqu %ymm12, 384(%rax); vmovdqu %ymm13, 416(%rax); vmovdqu %ymm14, 448(%rax); vmovdqu %ymm15, 480(%rax)\n"
	"	vzeroupper\n"
	"3:	popq %r15; popq %r14; popq %r13; popq %r12; popq %rbp; popq %rbx\n"
	"	ret\n.size spin,.-spin\n");

static void *spinner(void *arg)
{
	(void)arg;
	spin();
	return NULL;
}

static pthread_t thread;

static void setup(void)
{
	have_avx = __builtin_cpu_supports("avx");
	crt_fill(&in, sizeof(in), 71);
	in.gpr[2] = 0;
	in.flags = FLAGS;
	CRT_SYS(-pthread_create(&thread, NULL, spinner, NULL));
}

static void verify(void)
{
	static const char *const names[15] = { "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8",
					       "r9", "r10", "r11", "r12", "r13", "r14", "r15" };

	go = 1;
	pthread_join(thread, NULL);
	for (int i = 0; i < 15; i++)
		if (i != 2)
			crt_same((long long)out.gpr[i], (long long)in.gpr[i], "%s", names[i]);
	crt_same((long long)(out.flags & FLAGS), (long long)in.flags, "flags");
	if (have_avx)
		crt_ok(!memcmp(in.ymm, out.ymm, sizeof(in.ymm)), "ymm0 to ymm15");
}

const struct crt_test crt_test = {
	.text = "general registers, flags and vector registers of a computing thread",
	.setup = setup,
	.verify = verify,
};
