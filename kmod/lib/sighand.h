/* SPDX-License-Identifier: GPL-2.0-only */
/* sighand.h - siglock of another task, and having the kernel handle signals of current */
#ifndef CRYO_LIB_SIGHAND_H
#define CRYO_LIB_SIGHAND_H

#include <linux/sched.h>
#include <linux/thread_info.h>

struct sighand_struct;
struct task_struct;

/*
 * In a task work of current: on its way to user mode the kernel handles signals, and a system call
 * that was interrupted.
 */
static inline void cryo_look_at_signals(void)
{
	set_thread_flag(TIF_NOTIFY_SIGNAL);
}

/* sighand.c: lock_task_sighand() for modules */

/**
 * cryo_lock_sighand() - lock_task_sighand(), which is not exported
 * @task: the task, referenced by the caller
 *
 * Context: Takes siglock, and disables interrupts; cryo_unlock_sighand() ends both.
 *
 * Return: what is locked; NULL: the task has exited, and nothing is locked.
 */
struct sighand_struct *cryo_lock_sighand(struct task_struct *task);

/**
 * cryo_unlock_sighand() - drop siglock
 * @sighand: of cryo_lock_sighand(), and not NULL
 *
 * Context: With siglock. Interrupts are on afterwards.
 */
void cryo_unlock_sighand(struct sighand_struct *sighand);

#endif /* CRYO_LIB_SIGHAND_H */
