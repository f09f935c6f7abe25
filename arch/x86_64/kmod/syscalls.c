// SPDX-License-Identifier: GPL-2.0-only
/*
 * syscalls.c - system calls that were interrupted by the freeze (x86-64)
 */
#include <linux/errno.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/time64.h>
#include <linux/uaccess.h>
#include <linux/unistd.h>
#include <asm/syscall.h>

#include <cryo/ioctl.h>

#include "compat/ksym.h"
#include "cryo_arch.h"
#include "request/request.h"
#include "syscalls/clocks.h"
#include "syscalls/syscalls.h"
#include "syscalls/waiting_calls.h"

/* Bytes below the stack pointer that belong to the program (System V ABI, 3.2.2). */
#define RED_ZONE	128

/* Where the arguments of a system call are, which functions of system calls take from there. */
static unsigned long *argument(struct pt_regs *regs, unsigned int number)
{
	unsigned long *const at[] = { &regs->di, &regs->si, &regs->dx, &regs->r10, &regs->r8,
				      &regs->r9 };

	return at[number];
}

bool cryo_arch_resume_begin(void)
{
	return true;
}

/* The registers say so by themselves, and are looked at after the works in any case. */
void cryo_arch_resume_call(const struct cryo_regset *sets, unsigned int n, bool will_look)
{
}

/* handle_signal() looks for it. */
bool cryo_arch_keeps_sigmask(void)
{
	return true;
}

bool cryo_timed_wait_known(u32 nr)
{
	return cryo_waiting_call(nr);
}

/*
 * The one call that runs task works while it waits: here it goes on with that, and sets its result
 * then. In the context it was interrupted, when it had submitted what it was to submit. A filter
 * can have made up the error: then the call is made again, for the same error. Who only waits for
 * what another thread submits may never have used the ring himself.
 */
static void leave_uring_enter(struct pt_regs *regs)
{
	if (!IS_ENABLED(CONFIG_IO_URING))
		return;
	if (regs->si && !test_syscall_work(SECCOMP))
		regs->ax = regs->si;
	else
		regs->ax = -ERESTARTNOHAND;
}

void cryo_arch_note_syscall(struct cryo_parked *p)
{
	p->arch.sleep = cryo_sleep_of(p->task);
}

void cryo_arch_forget_syscall(struct cryo_parked *p)
{
}

void cryo_arch_unfix_syscall(struct cryo_parked *p)
{
}

/*
 * Its stop before the call looks as the call does when it waits: there it was asked in its sleep,
 * if not at once, then the next time.
 */
static bool is_at_stop(struct cryo_parked *p)
{
	return READ_ONCE(current->ptrace) && current->nvcsw != p->arch.sleep;
}

bool cryo_arch_within_call(struct cryo_parked *p)
{
	struct pt_regs *regs = current_pt_regs();
	unsigned long nr = regs->orig_ax;

	/* A 32-bit system call's numbers mean something else; such threads are refused. */
	if ((long)nr < 0 || current_thread_info()->status & TS_COMPAT ||
	    regs->ax != (unsigned long)-ENOSYS)
		return false;
	if (nr == __NR_io_uring_enter)
		return is_at_stop(p);
	return nr == __NR_io_uring_register || nr == __NR_exit || READ_ONCE(current->ptrace);
}

bool cryo_arch_call_is_interrupted(struct task_struct *task)
{
	struct pt_regs *regs = task_pt_regs(task);

	if ((long)regs->orig_ax < 0)
		return false;
	switch ((long)regs->ax) {
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
	case -ERESTART_RESTARTBLOCK:
		return true;
	}
	return false;
}

void cryo_arch_fixup_syscall(struct cryo_parked *p)
{
	struct pt_regs *regs = current_pt_regs();
	unsigned long nr = regs->orig_ax;

	/* A 32-bit system call's numbers mean something else; such threads are refused. */
	if ((long)nr < 0 || current_thread_info()->status & TS_COMPAT)
		return;
	if (nr == __NR_io_uring_enter && regs->ax == (unsigned long)-ENOSYS)
		leave_uring_enter(regs);
	if (nr == __NR_clock_nanosleep && regs->ax == (unsigned long)-ERESTARTNOHAND &&
	    cryo_sleep_until_arm(regs->di, regs->si, regs->dx))
		regs->ax = -ERESTART_RESTARTBLOCK;
	if (regs->ax != (unsigned long)-EINTR || !cryo_is_pure_wait(nr))
		return;
	if (cryo_timed_wait_found(p) && cryo_waiting_call(nr)) {
		cryo_timed_wait_arm(p->wait_ns, nr, regs->di);
		regs->ax = -ERESTART_RESTARTBLOCK;
	} else {
		/* EINTR after all if a handler runs; else the call is made again. */
		regs->ax = -ERESTARTNOHAND;
	}
}

long cryo_arch_continue_timed(u32 nr, s64 remaining_ns)
{
	const struct cryo_waiting_call *call = cryo_waiting_call(nr);
	struct pt_regs regs = *current_pt_regs();
	/* A timespec where nobody looks for anything: under the red zone of the user's stack. */
	unsigned long ts = round_down(regs.sp - RED_ZONE - sizeof(struct __kernel_timespec), 16);

	if (!call)
		return -EINTR;
	regs.orig_ax = nr;
	if (cryo_waiting_call_timeout(call, remaining_ns, ts, argument(&regs, call->arg)))
		return -EINTR;
	return cryo_timed_call_fn(call->call)(&regs);
}
