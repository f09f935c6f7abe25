/* SPDX-License-Identifier: GPL-2.0-only */
/* sighand.h - signal handlers' lock of another task, and looking at signals */
#ifndef CRYO_LIB_SIGHAND_H
#define CRYO_LIB_SIGHAND_H

#include <linux/sched.h>
#include <linux/thread_info.h>

struct sighand_struct;
struct task_struct;


/*
 * In a work of @current: on its way to user mode the kernel looks at signals and at what the system
 * call has returned.
 */
static inline void cryo_look_at_signals(void)
{
	set_thread_flag(TIF_NOTIFY_SIGNAL);
}

/* sighand.c: lock_task_sighand() for modules */
struct sighand_struct *cryo_lock_sighand(struct task_struct *task);
void cryo_unlock_sighand(struct sighand_struct *sighand);

#endif /* CRYO_LIB_SIGHAND_H */
