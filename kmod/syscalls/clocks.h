/* SPDX-License-Identifier: GPL-2.0-only */
/* clocks.h - times that programs name, on clocks which another boot begins anew */
#ifndef CRYO_SYSCALLS_CLOCKS_H
#define CRYO_SYSCALLS_CLOCKS_H

#include <linux/types.h>

struct task_struct;

/**
 * cryo_ahead_of_machine() - by how much a clock of a task is ahead of the machine's
 * @task: the task, whose time namespace is asked
 * @clockid: the clock
 *
 * Context: Takes task_lock() of @task.
 *
 * Return: nanoseconds, may be negative; 0 of clocks that no time namespace has of its own.
 */
s64 cryo_ahead_of_machine(struct task_struct *task, u32 clockid);

/**
 * cryo_shift_time() - a time as seen on a clock that is ahead
 * @time: nanoseconds, not negative
 * @ns: by how much that clock is ahead
 *
 * Return: nanoseconds, not negative: what is over stays over, and KTIME_MAX, which is never, is
 * that.
 */
s64 cryo_shift_time(s64 time, s64 ns);

/**
 * cryo_is_filtered() - does a seccomp filter see the calls of current?
 *
 * Return: true: one does, or it is in the strict mode.
 */
bool cryo_is_filtered(void);

/*
 * The @rmtp of a restart block that cryo_sleep_until_arm() has set. The kernel reads none with
 * TT_NONE, and sets it to NULL then.
 */
#define CRYO_UNTIL_A_TIME	((struct __kernel_timespec __user *)-1L)

/**
 * cryo_sleep_until_arm() - have restart_syscall(2) continue a clock_nanosleep(2) of current until a
 *	time on a clock that another boot begins anew
 * @clockid: first argument of the call
 * @flags: its second
 * @time: its third, an address in the program's memory
 *
 * The kernel makes such a call again by itself; but after a reboot the time that it names is
 * another one. So the context has it, and a restart can say what was left.
 *
 * Context: In current, in a task work, whose call has been interrupted (ERESTARTNOHAND). Faults no
 * page in.
 *
 * Return: true: the error is to be ERESTART_RESTARTBLOCK now; false: it is another sleep, or one of
 * which that cannot be known, and all is as it was.
 */
bool cryo_sleep_until_arm(clockid_t clockid, int flags, unsigned long time);

#endif /* CRYO_SYSCALLS_CLOCKS_H */
