/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * ppc64le.h - what a context of a ppc64le process holds besides format.h
 *
 * Register sets (CRYO_SEC_REGSET) are those of a core dump, with their numbers below. A CPU without
 * the feature has no such set.
 *
 * A thread in a system call has the trap of that call in its general registers, 0xc00 (sc) or 0x3000 (scv),
 * nip behind the instruction, and what the call is about to return: an error by sc is positive, with the
 * summary overflow bit of cr0; by scv it is negative. If that is one of the kernel's own (ERESTARTSYS 512,
 * ERESTARTNOINTR 513, ERESTARTNOHAND 514, ERESTART_RESTARTBLOCK 516), the call is to be made again, with
 * orig_gpr3 in r3, or goes on by the thread's restart block.
 */
#ifndef _CRYO_ARCH_PPC64LE_H
#define _CRYO_ARCH_PPC64LE_H

#include <linux/types.h>

enum cryo_ppc64le_note {
	CRYO_PPC64LE_PRSTATUS	= 0x1,	 /* struct cryo_ppc64le_regs, and zeros up to 48 words */
	CRYO_PPC64LE_PRFPREG	= 0x2,	 /* f0 ... f31, fpscr: u64 each */
	CRYO_PPC64LE_VMX	= 0x100, /* v0 ... v31; vscr and vrsave: 16 bytes each */
	CRYO_PPC64LE_VSX	= 0x102, /* the other halves of vs0 ... vs31, which f0 ... are a part of: u64 each */
	CRYO_PPC64LE_TAR	= 0x103, /* u64 */
	CRYO_PPC64LE_PPR	= 0x104, /* program priority: u64 */
	CRYO_PPC64LE_DSCR	= 0x105, /* data stream control: u64 */
	CRYO_PPC64LE_EBB	= 0x106, /* event-based branches: ebbrr, ebbhr, bescr: u64 each */
	CRYO_PPC64LE_PMU	= 0x107, /* siar, sdar, sier, mmcr2, mmcr0: u64 each */
	CRYO_PPC64LE_HASHKEYR	= 0x112, /* key of the hashes of return addresses: u64 */
};

/* In cryo_vma.flags: accesses are strongly ordered (PROT_SAO). */
#define CRYO_PPC64LE_VMA_SAO	0x100000000ULL

/* Payload of CRYO_SEC_CPU. */
struct cryo_ppc64le_cpu {
	__u32 pvr;			/* of one of the machine's cores */
	__u32 reserved0;
	__u64 timebase_hz;		/* frequency of the counter that programs can read */
	__u64 reserved[2];
};

struct cryo_ppc64le_regs {		/* PRSTATUS */
	__u64 gpr[32];
	__u64 nip;
	__u64 msr;
	__u64 orig_gpr3;
	__u64 ctr;
	__u64 link;
	__u64 xer;
	__u64 ccr;
	__u64 softe;
	__u64 trap;
	__u64 dar;
	__u64 dsisr;
	__u64 result;
};

#define CRYO_PPC64LE_TRAP_SC	0xc00
#define CRYO_PPC64LE_TRAP_SCV	0x3000
#define CRYO_PPC64LE_TRAP_FLAGS	0x1	/* of trap: the kernel's own */
#define CRYO_PPC64LE_CR0_SO	0x10000000

#endif /* _CRYO_ARCH_PPC64LE_H */
