// SPDX-License-Identifier: GPL-2.0-only
/*
 * shadow_stack.c - shadow stacks of x86-64, v6.6 (and only where configured)
 *
 * A debugger sees the pointer of a thread that has one, and can change it, but cannot give a thread
 * one.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <asm/msr-index.h>
#include <asm/prctl.h>

#include <cryo/arch/x86_64.h>
#include <cryo/ioctl.h>

#include "access/access.h"
#include "capture/capture.h"
#include "compat/x86.h"
#include "cryo_arch.h"
#include "lib/buf.h"
#include "lib/shadow_stack.h"

#define SHSTK_REGSET	sizeof(u64)
#define SHSTK_EXTENSION	(sizeof(struct cryo_x86_64_shstk) - SHSTK_REGSET)

size_t cryo_arch_regset_extension(unsigned int note)
{
	return note == CRYO_X86_64_SHSTK ? SHSTK_EXTENSION : 0;
}

#ifdef CONFIG_X86_USER_SHADOW_STACK
/* A thread without one may still be bound to stay so. */
int cryo_arch_regset_get(struct task_struct *task, unsigned int note, void **data)
{
	if (note != CRYO_X86_64_SHSTK || !task->thread.features_locked)
		return -ENODATA;
	*data = kvzalloc(SHSTK_REGSET, GFP_KERNEL_ACCOUNT);
	return *data ? SHSTK_REGSET : -ENOMEM;
}

void cryo_arch_extend_regset(struct cryo_capture *c, struct task_struct *task, unsigned int note,
			     struct cryo_buf *buf)
{
	const struct thread_struct *t = &task->thread;
	u64 rest[] = { t->features, t->features_locked, t->shstk.base, t->shstk.size };

	BUILD_BUG_ON(sizeof(rest) != SHSTK_EXTENSION);
	if (note == CRYO_X86_64_SHSTK)
		cryo_buf_put(buf, rest, sizeof(rest));
}

/*
 * Where user state of CET is in the registers of a thread, which are in compacted form where there
 * is such state (Intel SDM, volume 1, 13.4.3): __raw_xsave_addr(), which is not exported. CPUID:
 * size, and whether it is aligned.
 */
static struct cet_user_state *cet_state(struct xregs_state *xsave)
{
	u32 size, ebx, ecx, edx, offset = FXSAVE_SIZE + XSAVE_HDR_SIZE;
	u64 has = xsave->header.xcomp_bv;
	unsigned int i;

	if (!(has & XCOMP_BV_COMPACTED_FORMAT) || !(has & XFEATURE_MASK_CET_USER))
		return NULL;
	for (i = XFEATURE_YMM; i <= XFEATURE_CET_USER; i++) {
		if (!(has & BIT_ULL(i)))
			continue;
		cpuid_count(0xd, i, &size, &ebx, &ecx, &edx);
		if (ecx & 2)
			offset = ALIGN(offset, 64);
		if (i < XFEATURE_CET_USER)
			offset += size;
	}
	return (void *)xsave + offset;
}

static int check_shadow_stack(struct task_struct *task, const struct cryo_x86_64_shstk *to)
{
	u64 locked = task->thread.features_locked;

	if (to->enabled & ~(ARCH_SHSTK_SHSTK | ARCH_SHSTK_WRSS) || to->enabled == ARCH_SHSTK_WRSS)
		return -EINVAL;
	/* What is bound to stay as it is: for who may trace the thread, as by ARCH_SHSTK_UNLOCK. */
	locked &= ~to->locked | (to->enabled ^ task->thread.features);
	if (locked && !cryo_may_trace(task))
		return -EPERM;
	if (to->enabled && !cpu_feature_enabled(X86_FEATURE_USER_SHSTK))
		return -EOPNOTSUPP;
	/* As ssp_set(): the processor takes no others, and would say so in the kernel. */
	if (to->pointer >= TASK_SIZE_MAX || !IS_ALIGNED(to->pointer, sizeof(u64)))
		return -EINVAL;
	/* The thread will unmap it when it exits: it must not be other memory. */
	if (to->stack || to->stack_size)
		return cryo_check_shadow_stack(task, to->stack, to->stack_size);
	return 0;
}

/* @task, which is off its CPU, is to take its registers from memory the next time. */
static int give_shadow_stack(struct task_struct *task, const struct cryo_x86_64_shstk *to)
{
	struct fpu *fpu = cryo_x86_fpu(task);
	struct xregs_state *xsave = &fpu->fpstate->regs.xsave;
	struct cet_user_state *cet = cet_state(xsave);

	if (!cet)
		return -EOPNOTSUPP;
	cet->user_cet = CET_SHSTK_EN | (to->enabled & ARCH_SHSTK_WRSS ? CET_WRSS_EN : 0);
	cet->user_ssp = to->pointer;
	xsave->header.xfeatures |= XFEATURE_MASK_CET_USER;
	fpu->last_cpu = -1;
	return 0;
}

int cryo_arch_set_regset(struct task_struct *task, const struct cryo_regset *set)
{
	const struct cryo_x86_64_shstk *to = (const void *)(unsigned long)set->data;
	int err;

	if (set->note != CRYO_X86_64_SHSTK)
		return -ENOENT;
	if (set->length != sizeof(*to))
		return -EINVAL;
	err = check_shadow_stack(task, to);
	if (!err && to->enabled)
		err = give_shadow_stack(task, to);
	if (err)
		return err;
	task->thread.features = to->enabled;
	task->thread.features_locked = to->locked;
	task->thread.shstk.base = to->stack;
	task->thread.shstk.size = to->stack_size;
	return 0;
}
#else
int cryo_arch_regset_get(struct task_struct *task, unsigned int note, void **data)
{
	return -ENODATA;
}

void cryo_arch_extend_regset(struct cryo_capture *c, struct task_struct *task, unsigned int note,
			     struct cryo_buf *buf)
{
}

int cryo_arch_set_regset(struct task_struct *task, const struct cryo_regset *set)
{
	const struct cryo_x86_64_shstk *to = (const void *)(unsigned long)set->data;

	if (set->note != CRYO_X86_64_SHSTK)
		return -ENOENT;
	/* Who is bound to have none has none. */
	return set->length == sizeof(*to) && !to->enabled ? 0 : -EOPNOTSUPP;
}
#endif

int cryo_arch_regset_was_set(struct task_struct *task, const struct cryo_regset *set)
{
	return 0;
}
