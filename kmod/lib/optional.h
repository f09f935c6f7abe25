/* SPDX-License-Identifier: GPL-2.0-only */
/* optional.h - task state that exists only in kernels configured for it */
#ifndef CRYO_LIB_OPTIONAL_H
#define CRYO_LIB_OPTIONAL_H

#include <linux/types.h>

struct task_struct;

/* optional.c: task state that exists only in kernels configured for it */
bool cryo_task_syscall_dispatch(struct task_struct *task);
bool cryo_same_creds(struct task_struct *a, struct task_struct *b);

#endif /* CRYO_LIB_OPTIONAL_H */
