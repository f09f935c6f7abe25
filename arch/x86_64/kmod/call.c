// SPDX-License-Identifier: GPL-2.0-only
/*
 * call.c - how a system call is called inside of the kernel
 */
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/types.h>

#include "cryo_arch.h"

long cryo_arch_syscall3(long (*fn)(const struct pt_regs *regs), unsigned long a,
			unsigned long b, unsigned long c)
{
	struct pt_regs regs = *current_pt_regs();

	regs.di = a;
	regs.si = b;
	regs.dx = c;
	return fn(&regs);
}

const char *cryo_arch_syscall_prefix(void)
{
	return "__x64_sys_";
}
