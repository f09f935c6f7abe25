/* SPDX-License-Identifier: GPL-2.0-only */
/* shadow_stack.h - which memory is a shadow stack */
#ifndef CRYO_LIB_SHADOW_STACK_H
#define CRYO_LIB_SHADOW_STACK_H

#include <linux/types.h>

struct task_struct;

/* shadow_stack.c: which memory is a shadow stack */
int cryo_check_shadow_stack(struct task_struct *task, u64 start, u64 size);

bool cryo_shadow_stack_range(u64 start, u64 size);

#endif /* CRYO_LIB_SHADOW_STACK_H */
