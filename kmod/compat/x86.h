/* SPDX-License-Identifier: GPL-2.0-only */
/* asm/cpuid.h, asm/mmu.h of x86: for arch/x86_64/kmod only. */
#ifndef CRYO_COMPAT_X86_H
#define CRYO_COMPAT_X86_H

#include <linux/sched.h>
#include <linux/version.h>
/* cpuid_ebx() moved from asm/processor.h. */
#if __has_include(<asm/cpuid/api.h>)
#include <asm/cpuid/api.h>
#endif
#include <asm/mmu.h>
#include <asm/processor.h>

/* Linear address masking, v6.4 82721d8b25d7. */
static inline bool cryo_x86_lam(struct mm_struct *mm)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0) && defined(CONFIG_ADDRESS_MASKING)
	return mm->context.lam_cr3_mask;
#else
	return false;
#endif
}

/* asm/vvar.h has it as an argument of DECLARE_VVAR(); generic from v6.15 on. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define CRYO_X86_VDSO_DATA	0
#else
#define CRYO_X86_VDSO_DATA	128
#endif

#endif
