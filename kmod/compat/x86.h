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
#include <asm/fpu/types.h>
#include <asm/fpu/xstate.h>
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

/*
 * The registers of a task that is off its CPU. Behind the task since v6.16 55bc30f2e34d:
 * x86_task_fpu(), which is a function, and not exported, with CONFIG_X86_DEBUG_FPU.
 */
static inline struct fpu *cryo_x86_fpu(struct task_struct *task)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
	return (void *)(task + 1);
#else
	return &task->thread.fpu;
#endif
}

/*
 * State components that are only there on demand (AMX) and that the process of @task has asked for.
 */
static inline u64 cryo_x86_requested_registers(struct task_struct *task)
{
	struct fpu *fpu = cryo_x86_fpu(task->group_leader);

	return READ_ONCE(fpu->perm.__state_perm) & XFEATURE_MASK_USER_DYNAMIC;
}

/* asm/vvar.h has it as an argument of DECLARE_VVAR(); generic from v6.15 on. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define CRYO_X86_VDSO_DATA	0
#else
#define CRYO_X86_VDSO_DATA	128
#endif

#endif
