/* SPDX-License-Identifier: GPL-2.0-only */
/* asm/gcs.h of arm64: for arch/aarch64/kmod only. */
#ifndef CRYO_COMPAT_ARM64_H
#define CRYO_COMPAT_ARM64_H

#include <linux/sched.h>

/* Guarded control stacks, v6.13 (and only where configured). */
#ifdef CONFIG_ARM64_GCS
#include <asm/gcs.h>

static inline bool cryo_arm64_gcs(struct task_struct *task)
{
	return task_gcs_el0_enabled(task);
}
#else
static inline bool cryo_arm64_gcs(struct task_struct *task)
{
	return false;
}
#endif

#endif /* CRYO_COMPAT_ARM64_H */
