/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * aarch64.h - what a context of an aarch64 process holds besides format.h
 *
 * Register sets (CRYO_SEC_REGSET) are those of a core dump, with their numbers below. A CPU without
 * the feature has no such set.
 *
 * The saved pc of a thread in a system call is that of its SVC instruction, if the call is to be made
 * again, with x0 ... x5 and x8 as it wants them; x8 is 128 (restart_syscall) where it goes on by the
 * thread's restart block. Else pc is behind the instruction, and x0 is the result. CRYO_AARCH64_CALL tells what else may
 * end a call that is to be made again.
 */
#ifndef _CRYO_ARCH_AARCH64_H
#define _CRYO_ARCH_AARCH64_H

#include <linux/types.h>

enum cryo_aarch64_note {
	CRYO_AARCH64_PRSTATUS		= 0x1,	 /* struct cryo_aarch64_regs */
	CRYO_AARCH64_PRFPREG		= 0x2,	 /* v0 ... v31, fpsr, fpcr: struct user_fpsimd_state */
	CRYO_AARCH64_TLS		= 0x401, /* tpidr_el0, tpidr2_el0: u64 each */
	CRYO_AARCH64_CALL		= 0x404, /* struct cryo_aarch64_call */
	CRYO_AARCH64_SVE		= 0x405, /* struct cryo_aarch64_vector_head and registers */
	CRYO_AARCH64_PAC_MASK		= 0x406, /* struct cryo_aarch64_pac_mask */
	CRYO_AARCH64_PAC_ENABLED_KEYS	= 0x40a, /* PR_PAC_AP?KEY bits: u64 */
	CRYO_AARCH64_PACA_KEYS		= 0x407, /* keys ia, ib, da, db: 16 bytes each */
	CRYO_AARCH64_PACG_KEYS		= 0x408, /* key ga: 16 bytes */
	CRYO_AARCH64_TAGGED_ADDR_CTRL	= 0x409, /* of prctl(PR_SET_TAGGED_ADDR_CTRL): u64 */
	CRYO_AARCH64_SSVE		= 0x40b, /* as SVE, in streaming mode */
	CRYO_AARCH64_ZA			= 0x40c, /* struct cryo_aarch64_vector_head and the ZA array */
	CRYO_AARCH64_ZT			= 0x40d, /* ZT0: 64 bytes */
	CRYO_AARCH64_FPMR		= 0x40e, /* u64 */
	CRYO_AARCH64_POE		= 0x40f, /* por_el0: u64 */
	CRYO_AARCH64_GCS		= 0x410, /* struct cryo_aarch64_gcs */
};

/* In cryo_vma.flags: branches may only go to where they are expected (PROT_BTI). */
#define CRYO_AARCH64_VMA_BTI	0x100000000ULL
/* The same: it has tags (PROT_MTE). */
#define CRYO_AARCH64_VMA_MTE	0x200000000ULL

/* Payload of CRYO_SEC_CPU. */
struct cryo_aarch64_cpu {
	__u64 midr;			/* of one of the machine's cores */
	__u64 counter_hz;		/* frequency of the counter that programs can read */
	__u64 isar1, isar2;		/* ID_AA64ISAR1_EL1 and ID_AA64ISAR2_EL1, what all cores have; 0: not told */
};

struct cryo_aarch64_regs {		/* PRSTATUS */
	__u64 x[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};

/* The system call that the thread has been interrupted in. @error is not in core dumps. */
struct cryo_aarch64_call {
	__s32 nr;			/* where it went on inside; else -1: see x8 */
	/*
	 * What the call had returned within the kernel: ERESTARTSYS 512, ERESTARTNOHAND 514 or ERESTART_RESTARTBLOCK 516. It
	 * ends with EINTR when a handler runs (512: without SA_RESTART). 0: there is none, or it is not known: a signal
	 * then comes before it.
	 */
	__u32 error;
};

/* Bits of addresses that hold signatures: what the kernel and the CPU make them, not what a thread has set. */
struct cryo_aarch64_pac_mask {
	__u64 data;
	__u64 code;
};

/* SVE, SSVE and ZA begin with this; without more than this there are no registers in that mode. */
struct cryo_aarch64_vector_head {
	__u32 size;			/* of the set, this included */
	__u32 max_size;
	__u16 vl;			/* vector length in bytes */
	__u16 max_vl;			/* the longest that the machine has */
	__u16 flags;			/* CRYO_AARCH64_VECTOR_* */
	__u16 reserved;
};

/* Guarded control stack; what is on it is in a VMA with CRYO_VMA_SHADOW_STACK. The last two are not in core dumps. */
struct cryo_aarch64_gcs {
	__u64 enabled;			/* PR_SHADOW_STACK_* */
	__u64 locked;			/* of these, what the thread cannot change any more */
	__u64 pointer;			/* gcspr_el0 */
	__u64 stack;			/* what the kernel has made for the thread and unmaps when it exits; 0: none */
	__u64 stack_size;
};

#define CRYO_AARCH64_VECTOR_REGS_SVE	0x1	/* SVE, SSVE: z0 ... follow; else v0 ..., as in PRFPREG */
#define CRYO_AARCH64_VECTOR_INHERIT	0x2	/* programs that it executes get the same vector length */

#endif /* _CRYO_ARCH_AARCH64_H */
