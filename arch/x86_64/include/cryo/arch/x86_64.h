/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * x86_64.h - what a context of an x86-64 process holds besides format.h
 *
 * Register sets (CRYO_SEC_REGSET) are those of a core dump:
 *   NT_PRSTATUS   (1)     struct user_regs_struct: 27 u64; orig_rax is the number of the
 *                         system call in progress, or -1; rax then holds its result so far,
 *                         kernel-internal restart codes (-512 ... -516) included
 *   NT_X86_XSTATE (0x202) the XSAVE area in standard format, with the mask of
 *                         saved components at byte 464 (sw_reserved)
 *   NT_PRFPREG    (2)     FXSAVE area, on machines without XSAVE
 *   NT_X86_SHSTK  (0x204) struct cryo_x86_64_shstk, of which a core dump has the pointer only; of threads that
 *                         have a shadow stack or can get none any more
 * and one of Cryo's own:
 *   CRYO_X86_64_XCOMP_PERM u64, the state components that the process may use because it has asked for them
 */
#ifndef _CRYO_ARCH_X86_64_H
#define _CRYO_ARCH_X86_64_H

#include <linux/types.h>

/* Indexes of cryo_x86_64_cpu.cpuid: leaf, subleaf, register. */
enum {
	CRYO_X86_64_1_ECX,
	CRYO_X86_64_7_EBX,
	CRYO_X86_64_7_ECX,
	CRYO_X86_64_7_EDX,
	CRYO_X86_64_7_1_EAX,
	CRYO_X86_64_D_1_EAX,
	CRYO_X86_64_80000001_ECX,
	CRYO_X86_64_80000001_EDX,
	CRYO_X86_64_CPUID_WORDS
};

/* Payload of CRYO_SEC_CPU. */
struct cryo_x86_64_cpu {
	__u8  vendor[16];		/* CPUID leaf 0, NUL-padded */
	__u32 family;
	__u32 model;
	__u32 stepping;
	__u32 xstate_size;		/* bytes of the standard-format XSAVE area for all of @xcr0 */
	__u64 xcr0;			/* state components the kernel enabled */
	/* What CPUID says of instructions; not in contexts of the first builds, which are shorter. */
	__u32 cpuid[CRYO_X86_64_CPUID_WORDS];
};

/* Byte offset of the component mask in NT_X86_XSTATE. */
#define CRYO_X86_64_XSTATE_MASK_OFFSET	464

struct cryo_x86_64_regs {		/* NT_PRSTATUS */
	__u64 r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8;
	__u64 rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, eflags, rsp, ss;
	__u64 fs_base, gs_base, ds, es, fs, gs;
};

/* NT_X86_SHSTK, which older headers lack. */
#define CRYO_X86_64_SHSTK	0x204

struct cryo_x86_64_shstk {
	__u64 pointer;			/* IA32_PL3_SSP */
	__u64 enabled;			/* ARCH_SHSTK_*: 1 shadow stack, 2 it may be written to (WRSS) */
	__u64 locked;			/* of these, what the thread cannot change any more */
	__u64 stack;			/* what the kernel has made for the thread and unmaps when it exits; 0: none */
	__u64 stack_size;
};

/* arch_prctl(ARCH_REQ_XCOMP_PERM); only of processes that have some. */
#define CRYO_X86_64_XCOMP_PERM	0x43000001

#endif /* _CRYO_ARCH_X86_64_H */
