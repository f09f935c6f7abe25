// SPDX-License-Identifier: GPL-2.0-only
/*
 * syscalls.c - system calls that were interrupted by the freeze (ppc64le)
 *
 * The work runs before the kernel looks at what an interrupted call has returned, so the registers
 * tell it, and can be changed. A call by sc has its errors positive, with the summary overflow bit
 * of cr0 set, one by scv has them negative.
 */
#include <linux/errno.h>
#include <linux/kallsyms.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/seccomp.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/unistd.h>
#include <uapi/linux/futex.h>
#include <uapi/linux/ipc.h>
#include <asm/ptrace.h>
#include <asm/syscall.h>

#include <cryo/arch/ppc64le.h>
#include <cryo/ioctl.h>

#include "compat/ksym.h"
#include "cryo_arch.h"
#include "request/request.h"
#include "syscalls/clocks.h"
#include "syscalls/syscalls.h"
#include "syscalls/waiting_calls.h"

/*
 * So many functions of the kernel at most are under way when a thread runs works in the middle of a
 * call.
 */
#define CALL_DEPTH	64

static unsigned long *argument(struct pt_regs *regs, unsigned int number)
{
	return &regs->gpr[3 + number];
}

bool cryo_timed_wait_known(u32 nr)
{
	return cryo_waiting_call(nr == __NR_ipc ? __NR_semtimedop : nr);
}

static bool is_in_call(const struct pt_regs *regs)
{
	return trap_is_syscall((struct pt_regs *)regs) && !trap_norestart((struct pt_regs *)regs);
}

static unsigned long error_of(struct pt_regs *regs)
{
	if (trap_is_scv(regs))
		return IS_ERR_VALUE(regs->gpr[3]) ? -regs->gpr[3] : 0;
	return regs->ccr & CRYO_PPC64LE_CR0_SO ? regs->gpr[3] : 0;
}

static void set_error(struct pt_regs *regs, unsigned long error)
{
	if (trap_is_scv(regs)) {
		regs->gpr[3] = -error;
	} else {
		regs->gpr[3] = error;
		regs->ccr |= CRYO_PPC64LE_CR0_SO;
	}
}

/*
 * v6.1 gives back the arguments of a call by sc, which are wanted when it is made again, only where
 * a signal is pending on the way to user mode, and calls that wait for signals forget that one is;
 * or where something looks at the call's end. So something is said to: auditing, which does nothing
 * without its context.
 */
static void watch_call(struct task_struct *task)
{
	set_tsk_thread_flag(task, TIF_SYSCALL_AUDIT);
}

/* Also of threads that have it from the one that made them meanwhile. */
static void unwatch_call(struct task_struct *task)
{
#ifdef CONFIG_AUDITSYSCALL
	if (task->audit_context)
		return;
#endif
	clear_tsk_thread_flag(task, TIF_SYSCALL_AUDIT);
}

void cryo_arch_forget_syscall(struct cryo_parked *p)
{
	unwatch_call(p->task);
}

/* Calls in the middle of which works are run. */
static bool runs_works(struct task_struct *task, const struct pt_regs *regs)
{
	return regs->gpr[0] == __NR_io_uring_enter || regs->gpr[0] == __NR_io_uring_register ||
	       regs->gpr[0] == __NR_exit ||
	       READ_ONCE(task->ptrace);
}

void cryo_arch_note_syscall(struct cryo_parked *p)
{
	watch_call(p->task);
	p->arch.sleep = cryo_sleep_of(p->task);
}

/* Of what gives registers back, and runs works before. */
static bool is_name_of_exit(const char *name)
{
	return !strcmp(name, "syscall_exit_prepare") || !strcmp(name, "syscall_exit_restart") ||
	       !strcmp(name, "interrupt_exit_user_prepare") ||
	       !strcmp(name, "interrupt_exit_user_restart");
}

/*
 * Is @current in the middle of its call, and not behind it? Inside, the registers are as they were
 * at the entry; so they are after it when the result happens to be the first argument. What the
 * kernel notes as the result is that of the call before until then. So the stack is asked which
 * function is under way: tracers of functions hide some of them, and who is not seen to be behind
 * its call is in it.
 */
static bool is_inside_call(void)
{
	unsigned long at[CALL_DEPTH];
	char name[KSYM_SYMBOL_LEN];
	unsigned int n, i;

	n = stack_trace_save(at, ARRAY_SIZE(at), 0);
	for (i = 0; i < n; i++) {
		sprint_symbol_no_offset(name, at[i]);
		if (!strcmp(name, "system_call_exception"))
			return true;
		if (is_name_of_exit(name))
			return false;
	}
	return true;
}

/* Many works are run in io_uring_enter(2) while it waits. */
static bool is_inside_uring_enter(struct pt_regs *regs)
{
	return IS_ENABLED(CONFIG_IO_URING) && regs->gpr[0] == __NR_io_uring_enter &&
	       is_inside_call();
}

/*
 * Here the call goes on when it is let go. In the context it was interrupted, when it had submitted
 * what it was to submit. A filter can have made up the error: then the call is made again, for the
 * same error.
 */
static void show_uring_enter(struct cryo_parked *p, struct pt_regs *regs)
{
	p->arch.inside_call = true;
	p->arch.gpr3 = regs->gpr[3];
	p->arch.ccr = regs->ccr;
	if (regs->gpr[4] && !current->seccomp.mode)
		regs->gpr[3] = regs->gpr[4];
	else
		set_error(regs, ERESTARTNOHAND);
}

/* The C library calls semop(2) and semtimedop(2) by the old call for all of System V's. */
static bool is_ipc(const struct pt_regs *regs, unsigned int call)
{
	return regs->gpr[0] == __NR_ipc && (regs->orig_gpr3 & 0xffff) == call;
}

static bool is_pure_wait(const struct pt_regs *regs)
{
	return is_ipc(regs, SEMOP) || is_ipc(regs, SEMTIMEDOP) || cryo_is_pure_wait(regs->gpr[0]);
}

static bool is_timed_wait(const struct pt_regs *regs)
{
	u32 nr = regs->gpr[0];

	return nr == __NR_ipc ? is_ipc(regs, SEMTIMEDOP) && cryo_timed_wait_known(nr) :
				!!cryo_waiting_call(nr);
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

	if (!is_in_call(regs) || is_tsk_32bit_task(current) || !runs_works(current, regs) ||
	    !is_inside_call())
		return false;
	return regs->gpr[0] != __NR_io_uring_enter || is_at_stop(p);
}

bool cryo_arch_call_is_interrupted(struct task_struct *task)
{
	struct pt_regs *regs = task_pt_regs(task);

	if (!is_in_call(regs))
		return false;
	switch (error_of(regs)) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
	case ERESTART_RESTARTBLOCK:
		return true;
	}
	return false;
}

void cryo_arch_fixup_syscall(struct cryo_parked *p)
{
	struct pt_regs *regs = current_pt_regs();

	unwatch_call(current);
	p->arch.inside_call = false;
	/* A 32-bit system call's numbers mean something else; such threads are refused. */
	if (!is_in_call(regs) || is_tsk_32bit_task(current))
		return;
	if (is_inside_uring_enter(regs)) {
		show_uring_enter(p, regs);
		return;
	}
	if (regs->gpr[0] == __NR_clock_nanosleep && error_of(regs) == ERESTARTNOHAND &&
	    cryo_sleep_until_arm(regs->orig_gpr3, regs->gpr[4], regs->gpr[5]))
		set_error(regs, ERESTART_RESTARTBLOCK);
	if (error_of(regs) != EINTR || !is_pure_wait(regs))
		return;
	if (cryo_timed_wait_found(p) && is_timed_wait(regs)) {
		cryo_timed_wait_arm(p->wait_ns, regs->gpr[0], regs->orig_gpr3);
		set_error(regs, ERESTART_RESTARTBLOCK);
	} else {
		/* EINTR after all if a handler runs; else the call is made again. */
		set_error(regs, ERESTARTNOHAND);
	}
}

void cryo_arch_unfix_syscall(struct cryo_parked *p)
{
	struct pt_regs *regs = current_pt_regs();

	if (!p->arch.inside_call)
		return;
	regs->gpr[3] = p->arch.gpr3;
	regs->ccr = p->arch.ccr;
}

/* By prepare_park() there is a signal to be looked for. */
bool cryo_arch_resume_begin(void)
{
	return false;
}

/* The registers say so by themselves, and are looked at after the works in any case. */
void cryo_arch_resume_call(const struct cryo_regset *sets, unsigned int n, bool will_look)
{
}

/* do_signal() has looked for it before it ran the works. */
bool cryo_arch_keeps_sigmask(void)
{
	struct pt_regs *regs = current_pt_regs();

	if (is_in_call(regs) && error_of(regs) == EINTR)
		set_error(regs, ERESTARTNOHAND);
	return false;
}

bool cryo_arch_uses_restart_block(struct cryo_request *req, struct task_struct *task)
{
	struct pt_regs *regs = task_pt_regs(task);

	return is_in_call(regs) && error_of(regs) == ERESTART_RESTARTBLOCK;
}

bool cryo_arch_futex_is_absolute(struct task_struct *task)
{
	/* restart_syscall(2) leaves the arguments of the call it continues: r4 is the operation. */
	return (task_pt_regs(task)->gpr[4] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}

/* ipc(call, semid, nsops, unused, sops, timeout) is semtimedop(semid, sops, nsops, timeout). */
static void unwrap_ipc(struct pt_regs *regs)
{
	unsigned long operations = regs->gpr[5];

	regs->gpr[3] = regs->gpr[4];
	regs->gpr[4] = regs->gpr[7];
	regs->gpr[5] = operations;
}

long cryo_arch_continue_timed(u32 nr, s64 remaining_ns)
{
	const struct cryo_waiting_call *call;
	struct pt_regs regs = *current_pt_regs();
	/* A timespec where nobody looks for anything: under the red zone of the user's stack. */
	unsigned long ts = round_down(regs.gpr[1] - USER_REDZONE_SIZE -
				      sizeof(struct __kernel_timespec), 16);

	regs.gpr[0] = nr;
	/* The result has been in its register. */
	regs.gpr[3] = (unsigned long)current->restart_block.futex.uaddr;
	if (nr == __NR_ipc) {
		unwrap_ipc(&regs);
		nr = __NR_semtimedop;
	}
	call = cryo_waiting_call(nr);
	if (!call || cryo_waiting_call_timeout(call, remaining_ns, ts, argument(&regs, call->arg)))
		return -EINTR;
	return cryo_timed_call_fn(call->call)(&regs);
}
