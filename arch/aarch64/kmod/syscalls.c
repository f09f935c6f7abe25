// SPDX-License-Identifier: GPL-2.0-only
/*
 * syscalls.c - system calls that were interrupted by the freeze (aarch64)
 *
 * When a work runs on the way to user mode, do_signal() has already forgotten that there was a
 * system call: one that is to be made again has its pc at the SVC and its first argument in x0.
 * What it does later it keeps to itself: with restart_syscall(2) instead, or EINTR after all
 * because a handler runs. So a thread's call is looked up before the thread is interrupted, while
 * it sleeps.
 */
#include <linux/errno.h>
#include <uapi/linux/futex.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/time64.h>
#include <linux/uaccess.h>
#include <linux/unistd.h>
#include <asm/compat.h>

#include "compat/ksym.h"
#include "cryo_arch.h"
#include "interrupted.h"
#include "request/request.h"
#include "syscalls/clocks.h"
#include "syscalls/syscalls.h"
#include "syscalls/waiting_calls.h"

#define NR_UNKNOWN	(-2)		/* it was on a CPU */

/* Below the user's stack pointer; the ABI has no red zone, but hand-written code might. */
#define RED_ZONE	128

/*
 * It does. Where do_signal() has looked at the call before it ran the works, though, the call would
 * be made again all the same; unless it has settled on EINTR.
 */
bool cryo_arch_keeps_sigmask(void)
{
	struct pt_regs *regs = current_pt_regs();

	return in_syscall(regs) || (long)regs->regs[0] == -EINTR;
}

bool cryo_timed_wait_known(u32 nr)
{
	return cryo_waiting_call(nr);
}

/*
 * What @task has saved when it entered the kernel. It may be exiting: then its stack can go away at
 * any time, but not before readers of RCU are through.
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
	if (READ_ONCE(task->__state) == TASK_RUNNING || smp_load_acquire(&task->on_cpu) ||
	    task_is_stopped_or_traced(task))
		p->arch.nr = NR_UNKNOWN;
	else
		p->arch.nr = saved_syscall(task);
}

/*
 * The call that @current comes from, or -1. One that was on its way into a call when it was asked
 * has that in its registers only: whether it has made the call, it is told by where pc is.
 */
static s32 call_of(struct cryo_parked *p, struct pt_regs *regs, u64 svc)
{
	s32 nr = p->arch.nr;

	if (nr == NR_UNKNOWN || current->nvcsw != p->arch.switches)
		nr = regs->regs[8];
	return nr == (s32)regs->regs[8] && cryo_is_svc(NULL, current, svc) ? nr : -1;
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
	regs->pc -= CRYO_SVC_BYTES;
}

/*
 * The one call that runs task works while it waits: here it goes on with that. In the context it
 * was interrupted, when it had submitted what it was to submit. A filter can have made up the
 * error: then the call is made again, for the same error.
 */
static void show_uring_enter(struct cryo_parked *p, struct pt_regs *regs)
{
	p->arch.change = CRYO_INSIDE_CALL;
	if (regs->regs[1] && !test_thread_flag(TIF_SECCOMP)) {
		regs->regs[0] = regs->regs[1];
	} else {
		p->arch.error = -ERESTARTNOHAND;
		rewind_to_svc(regs, regs->orig_x0);
	}
}

/* With the arguments of the call in their registers. */
static void note_sleep_until(struct cryo_parked *p, const struct pt_regs *regs, s32 nr)
{
	if (nr == __NR_clock_nanosleep && p->arch.error == -ERESTARTNOHAND &&
	    cryo_sleep_until_arm(regs->regs[0], regs->regs[1], regs->regs[2]))
		p->arch.error = -ERESTART_RESTARTBLOCK;
}

/* Just restarted, and do_signal() has not looked yet at the call that it was in. */
static void show_interrupted(struct cryo_parked *p, struct pt_regs *regs)
{
	p->arch.change = CRYO_INSIDE_CALL;
	p->arch.error = regs->regs[0];
	rewind_to_svc(regs, regs->orig_x0);
	note_sleep_until(p, regs, regs->syscallno);
}

/* EINTR, and no handler will run: the call is made again, with what is left of its time. */
static void wait_again(struct cryo_parked *p, struct pt_regs *regs, s32 nr)
{
	p->arch.change = CRYO_WAIT_AGAIN;
	p->arch.error = -ERESTARTNOHAND;
	rewind_to_svc(regs, regs->orig_x0);
	if (cryo_timed_wait_found(p) && cryo_waiting_call(nr)) {
		cryo_timed_wait_arm(p->wait_ns, nr, regs->orig_x0);
		regs->regs[8] = __NR_restart_syscall;
	}
}

/*
 * The call has been, or will be, made again. That it had begun matters to a signal only when
 * somebody can know: has seen it sleep, or does so by the mask that it sets.
 */
static void note_interrupted(struct cryo_parked *p, struct pt_regs *regs)
{
	s32 nr = call_of(p, regs, regs->pc);

	if (nr < 0 || (!slept_in(p, nr) && !test_restore_sigmask()))
		return;
	p->arch.error = cryo_interrupted_error(nr, regs);
	note_sleep_until(p, regs, nr);
	if (p->arch.error == -ERESTART_RESTARTBLOCK) {
		p->arch.change = CRYO_RESTART_BLOCK;
		regs->regs[8] = __NR_restart_syscall;
	}
}

/*
 * Where do_signal() is yet to look at the call: one that has settled on EINTR is made again, as on
 * other architectures.
 */
static void restart_interrupted(struct cryo_parked *p, struct pt_regs *regs)
{
	if ((long)regs->regs[0] != -EINTR || !cryo_is_pure_wait(regs->syscallno))
		return;
	if (cryo_timed_wait_found(p) && cryo_waiting_call(regs->syscallno)) {
		cryo_timed_wait_arm(p->wait_ns, regs->syscallno, regs->orig_x0);
		regs->regs[0] = -ERESTART_RESTARTBLOCK;
	} else {
		regs->regs[0] = -ERESTARTNOHAND;
	}
}

/*
 * At the stops before and after a call x7 says which it is, and what the program has there is on
 * the kernel's stack only: nobody parks there of whom there may be a context, not even with a call
 * that has been interrupted.
 */
static bool is_at_stop(struct cryo_parked *p, struct pt_regs *regs)
{
	if (!READ_ONCE(current->ptrace))
		return false;
	if (!(p->req->args.flags & CRYO_CKPT_PTRACED_ALLOW) &&
	    cryo_is_interrupted(regs->regs[0]))
		return false;
	return regs->syscallno != __NR_io_uring_enter || regs->regs[0] != regs->orig_x0 ||
	       !slept_in(p, regs->syscallno);
}

/* On the way to user mode there is no call any more, but for one that has just been restarted. */
bool cryo_arch_within_call(struct cryo_parked *p)
{
	struct pt_regs *regs = current_pt_regs();

	if (compat_user_mode(regs) || !in_syscall(regs))
		return false;
	if (READ_ONCE(current->ptrace) && regs->regs[0] != regs->orig_x0)
		restart_interrupted(p, regs);
	if (is_at_stop(p, regs))
		return true;
	return !cryo_is_interrupted(regs->regs[0]) &&
	       (regs->syscallno == __NR_io_uring_register || regs->syscallno == __NR_exit);
}

bool cryo_arch_call_is_interrupted(struct task_struct *task)
{
	struct pt_regs *regs = task_pt_regs(task);

	return in_syscall(regs) && cryo_is_interrupted(regs->regs[0]);
}

void cryo_arch_fixup_syscall(struct cryo_parked *p)
{
	struct pt_regs *regs = current_pt_regs();
	s32 nr;

	p->arch.change = CRYO_UNCHANGED;
	p->arch.error = 0;
	p->arch.x0 = regs->regs[0];
	p->arch.x8 = regs->regs[8];
	p->arch.pc = regs->pc;
	/* A 32-bit system call's numbers mean something else; such threads are refused. */
	if (compat_user_mode(regs))
		return;
	if (in_syscall(regs)) {
		if (IS_ENABLED(CONFIG_IO_URING) && regs->syscallno == __NR_io_uring_enter)
			show_uring_enter(p, regs);
		else if (cryo_is_interrupted(regs->regs[0]))
			show_interrupted(p, regs);
		return;
	}
	if ((long)regs->regs[0] == -EINTR) {
		nr = call_of(p, regs, regs->pc - CRYO_SVC_BYTES);
		if (cryo_is_pure_wait(nr) && !has_signal())
			wait_again(p, regs, nr);
		return;
	}
	note_interrupted(p, regs);
}

void cryo_arch_forget_syscall(struct cryo_parked *p)
{
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

bool cryo_arch_uses_restart_block(struct cryo_request *req, struct task_struct *task)
{
	struct pt_regs *regs = task_pt_regs(task);

	return cryo_interrupted_when_stopped(req, task) == -ERESTART_RESTARTBLOCK ||
	       (regs->regs[8] == __NR_restart_syscall && cryo_is_svc(req, task, regs->pc));
}

bool cryo_arch_futex_is_absolute(struct task_struct *task)
{
	/* restart_syscall(2) leaves the arguments of the call it continues: x1 is the operation. */
	return (task_pt_regs(task)->regs[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}

long cryo_arch_continue_timed(u32 nr, s64 remaining_ns)
{
	const struct cryo_waiting_call *call = cryo_waiting_call(nr);
	struct pt_regs regs = *current_pt_regs();
	/* A timespec where nobody looks for anything: well under the user's stack. */
	unsigned long ts = round_down(regs.sp - RED_ZONE - sizeof(struct __kernel_timespec), 16);
	unsigned long arg;

	if (!call || cryo_waiting_call_timeout(call, remaining_ns, ts, &arg))
		return -EINTR;
	regs.regs[call->arg] = arg;
	return cryo_timed_call_fn(call->call)(&regs);
}
