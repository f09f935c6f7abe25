// SPDX-License-Identifier: GPL-2.0-only
/*
 * syscalls.c - system calls that were interrupted by the freeze (aarch64)
 *
 * When a work runs on the way to user mode, do_signal() has already forgotten that there was a system
 * call: one that is to be made again has its pc at the SVC and its first argument in x0.  What it does
 * later it keeps to itself:  with restart_syscall(2) instead, or EINTR after all because a handler
 * runs.  So a thread's call is looked up before the thread is interrupted, while it sleeps.
 */
#include <linux/errno.h>
#include <uapi/linux/futex.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/time64.h>
#include <linux/uaccess.h>
#include <linux/unistd.h>
#include <asm/compat.h>

#include "compat/ksym.h"
#include "cryo.h"
#include "cryo_arch.h"

#define SVC_0		0xd4000001	/* the instruction of a system call */
#define SVC_BYTES	4
#define NR_UNKNOWN	(-2)		/* it was on a CPU */

/* Below the user's stack pointer; the ABI has no red zone, but hand-written code might. */
#define RED_ZONE	128

/*
 * Calls that settle on EINTR although nothing has happened yet, so that they can
 * be made again: they wait for something before they take it.
 */
static bool is_pure_wait(s32 nr)
{
	switch (nr) {
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
	case __NR_rt_sigtimedwait:
	case __NR_semop:
	case __NR_semtimedop:
	case __NR_io_getevents:
	case __NR_io_pgetevents:
	case __NR_io_uring_enter:	/* EINTR only when it has submitted nothing */
	/* With SO_RCVTIMEO or SO_SNDTIMEO; EINTR says that not a byte was transferred. */
	case __NR_read:
	case __NR_readv:
	case __NR_recvfrom:
	case __NR_recvmsg:
	case __NR_recvmmsg:
	case __NR_write:
	case __NR_writev:
	case __NR_sendto:
	case __NR_sendmsg:
	case __NR_sendmmsg:
	case __NR_connect:	/* waits on for the connection that is under way */
	case __NR_accept:
	case __NR_accept4:
		return true;
	}
	return false;
}

/* Calls that go on by restart_syscall(2), when they have these arguments. */
static bool uses_block(s32 nr, const struct pt_regs *regs)
{
	switch (nr) {
	case __NR_nanosleep:
		return true;
	case __NR_clock_nanosleep:
		return !(regs->regs[1] & TIMER_ABSTIME);
	case __NR_futex:
		switch (regs->regs[1] & FUTEX_CMD_MASK) {
		case FUTEX_WAIT:
		case FUTEX_WAIT_BITSET:
			return regs->regs[3];
		}
		return false;
	}
	return false;
}

enum timeout_kind {
	TIMEOUT_MS,		/* int, milliseconds */
	TIMEOUT_TIMESPEC,	/* pointer to struct timespec */
};

/* The calls that cryo_arch_continue_timed() knows, and where their timeout is. */
static const struct timed_call {
	unsigned int nr;
	enum cryo_timed_call call;
	unsigned int arg;		/* number of the register */
	enum timeout_kind kind;
} timed_calls[] = {
	{ __NR_epoll_pwait, CRYO_CALL_EPOLL_PWAIT, 3, TIMEOUT_MS },
	{ __NR_epoll_pwait2, CRYO_CALL_EPOLL_PWAIT2, 3, TIMEOUT_TIMESPEC },
	{ __NR_rt_sigtimedwait, CRYO_CALL_SIGTIMEDWAIT, 2, TIMEOUT_TIMESPEC },
	{ __NR_semtimedop, CRYO_CALL_SEMTIMEDOP, 3, TIMEOUT_TIMESPEC },
};

static const struct timed_call *find_timed(u32 nr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(timed_calls); i++)
		if (timed_calls[i].nr == nr)
			return cryo_timed_call_fn(timed_calls[i].call) ? &timed_calls[i] : NULL;
	return NULL;
}

long cryo_arch_syscall3(long (*fn)(const struct pt_regs *regs), unsigned long a,
			unsigned long b, unsigned long c)
{
	struct pt_regs regs = *current_pt_regs();

	regs.regs[0] = a;
	regs.regs[1] = b;
	regs.regs[2] = c;
	return fn(&regs);
}

const char *cryo_arch_syscall_prefix(void)
{
	return "__arm64_sys_";
}

bool cryo_timed_wait_known(u32 nr)
{
	return find_timed(nr);
}

/*
 * What @task has saved when it entered the kernel.  It may be exiting:  then its stack can go away at any
 * time, but not before readers of RCU are through.
 */
static s32 saved_syscall(struct task_struct *task)
{
	s32 nr = -1;
	void *stack;

	rcu_read_lock();
	stack = READ_ONCE(task->stack);
	if (stack)
		nr = ((struct pt_regs *)(stack + THREAD_SIZE) - 1)->syscallno;
	rcu_read_unlock();
	return nr;
}

void cryo_arch_note_syscall(struct cryo_parked *p)
{
	struct task_struct *task = p->task;

	p->arch.switches = READ_ONCE(task->nvcsw);
	/* Pairs with the store in finish_task(), as in freeze.c: what it has saved is there. */
	if (smp_load_acquire(&task->on_cpu) || task_is_stopped_or_traced(task))
		p->arch.nr = NR_UNKNOWN;
	else
		p->arch.nr = saved_syscall(task);
}

static bool is_svc(struct pt_regs *regs, u64 at)
{
	u32 instruction;

	return !get_user(instruction, (u32 __user *)at) && instruction == SVC_0;
}

/*
 * The call that @current comes from, or -1.  One that was on its way into a call when it was asked has
 * that in its registers only: whether it has made the call, it is told by where pc is.
 */
static s32 call_of(struct cryo_parked *p, struct pt_regs *regs, u64 svc)
{
	s32 nr = p->arch.nr;

	if (nr == NR_UNKNOWN || current->nvcsw != p->arch.switches)
		nr = regs->regs[8];
	return nr == (s32)regs->regs[8] && is_svc(regs, svc) ? nr : -1;
}

/* Was it asleep in that call when it was asked?  Then it is no call that is yet to be made. */
static bool slept_in(struct cryo_parked *p, s32 nr)
{
	return p->arch.nr == nr && current->nvcsw == p->arch.switches;
}

/* Will a signal be looked at before user mode is? */
static bool has_signal(void)
{
	bool pending;

	spin_lock_irq(&current->sighand->siglock);
	recalc_sigpending();
	pending = task_sigpending(current);
	spin_unlock_irq(&current->sighand->siglock);
	return pending;
}

static void rewind_to_svc(struct pt_regs *regs, u64 x0)
{
	regs->regs[0] = x0;
	regs->pc -= SVC_BYTES;
}

/*
 * The one call that runs task works while it waits: here it goes on with that.  In the context it was
 * interrupted, when it had submitted what it was to submit.  A filter can have made up the error: then
 * the call is made again, for the same error.
 */
static void show_uring_enter(struct cryo_parked *p, struct pt_regs *regs)
{
	p->arch.change = CRYO_INSIDE_CALL;
	if (regs->regs[1] && !test_thread_flag(TIF_SECCOMP))
		regs->regs[0] = regs->regs[1];
	else
		rewind_to_svc(regs, regs->orig_x0);
}

/* EINTR, and no handler will run: the call is made again, with what is left of its time. */
static void wait_again(struct cryo_parked *p, struct pt_regs *regs, s32 nr)
{
	p->arch.change = CRYO_WAIT_AGAIN;
	rewind_to_svc(regs, regs->orig_x0);
	if (cryo_timed_wait_found(p) && find_timed(nr)) {
		cryo_timed_wait_arm(p->wait_ns, nr);
		regs->regs[8] = __NR_restart_syscall;
	}
}

void cryo_arch_fixup_syscall(struct cryo_parked *p)
{
	struct pt_regs *regs = current_pt_regs();
	s32 nr;

	p->arch.change = CRYO_UNCHANGED;
	p->arch.x0 = regs->regs[0];
	p->arch.x8 = regs->regs[8];
	p->arch.pc = regs->pc;
	/* A 32-bit system call's numbers mean something else; such threads are refused. */
	if (compat_user_mode(regs))
		return;
	if (in_syscall(regs)) {
		if (regs->syscallno == __NR_io_uring_enter && cryo_uring_used(current))
			show_uring_enter(p, regs);
		return;
	}
	if ((long)regs->regs[0] == -EINTR) {
		nr = call_of(p, regs, regs->pc - SVC_BYTES);
		if (is_pure_wait(nr) && !has_signal())
			wait_again(p, regs, nr);
		return;
	}
	nr = call_of(p, regs, regs->pc);
	if (slept_in(p, nr) && uses_block(nr, regs)) {
		p->arch.change = CRYO_RESTART_BLOCK;
		regs->regs[8] = __NR_restart_syscall;
	}
}

void cryo_arch_unfix_syscall(struct cryo_parked *p)
{
	struct pt_regs *regs = current_pt_regs();

	/* EINTR after all if a handler runs. */
	if (p->arch.change == CRYO_UNCHANGED ||
	    (p->arch.change == CRYO_WAIT_AGAIN && !has_signal()))
		return;
	regs->regs[0] = p->arch.x0;
	regs->regs[8] = p->arch.x8;
	regs->pc = p->arch.pc;
}

bool cryo_arch_uses_restart_block(struct task_struct *task)
{
	struct pt_regs *regs = task_pt_regs(task);
	u32 instruction;

	return regs->regs[8] == __NR_restart_syscall &&
	       access_process_vm(task, regs->pc, &instruction, sizeof(instruction), FOLL_FORCE) ==
	       sizeof(instruction) && instruction == SVC_0;
}

bool cryo_arch_futex_is_absolute(struct task_struct *task)
{
	/* restart_syscall(2) leaves the arguments of the call it continues: x1 is the operation. */
	return (task_pt_regs(task)->regs[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}

/* A timespec where nobody looks for anything: well under the user's stack. */
static int put_timespec(struct pt_regs *regs, u64 *arg, s64 ns)
{
	struct timespec64 ts = ns_to_timespec64(ns);
	struct __kernel_timespec out = { ts.tv_sec, ts.tv_nsec };
	unsigned long at = round_down(regs->sp - RED_ZONE - sizeof(out), 16);

	if (copy_to_user((void __user *)at, &out, sizeof(out)))
		return -EFAULT;
	*arg = at;
	return 0;
}

long cryo_arch_continue_timed(u32 nr, s64 remaining_ns)
{
	const struct timed_call *call = find_timed(nr);
	struct pt_regs regs = *current_pt_regs();
	u64 *arg;

	if (!call)
		return -EINTR;
	arg = &regs.regs[call->arg];
	/* Round up: a wait may be longer than asked for, never shorter. */
	if (call->kind == TIMEOUT_MS)
		*arg = min_t(s64, DIV_ROUND_UP_ULL(remaining_ns, NSEC_PER_MSEC), INT_MAX);
	else if (put_timespec(&regs, arg, remaining_ns))
		return -EINTR;
	return cryo_timed_call_fn(call->call)(&regs);
}
