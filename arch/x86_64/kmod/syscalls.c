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

#include "compat/ksym.h"
#include "cryo.h"
#include "cryo_arch.h"

/* Bytes below the stack pointer that belong to the program (System V ABI, 3.2.2). */
#define RED_ZONE	128

/*
 * Calls that settle on EINTR although nothing has happened yet, so that they can
 * be made again: they wait for something before they take it.
 */
static bool is_pure_wait(unsigned long nr)
{
	switch (nr) {
	case __NR_epoll_wait:
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

enum timeout_kind {
	TIMEOUT_MS,		/* int, milliseconds */
	TIMEOUT_TIMESPEC,	/* pointer to struct timespec */
};

/* The calls that cryo_arch_continue_timed() knows, and where their timeout is. */
static const struct timed_call {
	unsigned int nr;
	enum cryo_timed_call call;
	size_t arg;			/* offset in struct pt_regs */
	enum timeout_kind kind;
} timed_calls[] = {
	{ __NR_epoll_wait, CRYO_CALL_EPOLL_WAIT, offsetof(struct pt_regs, r10), TIMEOUT_MS },
	{ __NR_epoll_pwait, CRYO_CALL_EPOLL_PWAIT, offsetof(struct pt_regs, r10), TIMEOUT_MS },
	{ __NR_epoll_pwait2, CRYO_CALL_EPOLL_PWAIT2, offsetof(struct pt_regs, r10),
	  TIMEOUT_TIMESPEC },
	{ __NR_rt_sigtimedwait, CRYO_CALL_SIGTIMEDWAIT, offsetof(struct pt_regs, dx),
	  TIMEOUT_TIMESPEC },
	{ __NR_semtimedop, CRYO_CALL_SEMTIMEDOP, offsetof(struct pt_regs, r10),
	  TIMEOUT_TIMESPEC },
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

	regs.di = a;
	regs.si = b;
	regs.dx = c;
	return fn(&regs);
}

const char *cryo_arch_syscall_prefix(void)
{
	return "__x64_sys_";
}

bool cryo_timed_wait_known(u32 nr)
{
	return find_timed(nr);
}

/*
 * The one call that runs task works while it waits: here it goes on with that, and sets its result then.
 * In the context it was interrupted, when it had submitted what it was to submit.  A filter can have
 * made up the error: then the call is made again, for the same error.
 */
static void leave_uring_enter(struct pt_regs *regs)
{
	if (!cryo_uring_used(current))
		return;
	if (regs->si && !test_syscall_work(SECCOMP))
		regs->ax = regs->si;
	else
		regs->ax = -ERESTARTNOHAND;
}

/* The registers tell it all: see cryo_arch_fixup_syscall(). */
void cryo_arch_note_syscall(struct cryo_parked *p)
{
}

void cryo_arch_unfix_syscall(struct cryo_parked *p)
{
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
	if (regs->ax != (unsigned long)-EINTR || !is_pure_wait(nr))
		return;
	if (cryo_timed_wait_found(p) && find_timed(nr)) {
		cryo_timed_wait_arm(p->wait_ns, nr);
		regs->ax = -ERESTART_RESTARTBLOCK;
	} else {
		/* EINTR after all if a handler runs; else the call is made again. */
		regs->ax = -ERESTARTNOHAND;
	}
}

/* A timespec where nobody looks for anything: under the red zone of the user's stack. */
static int put_timespec(struct pt_regs *regs, unsigned long *arg, s64 ns)
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
	unsigned long *arg;

	if (!call)
		return -EINTR;
	arg = (unsigned long *)((char *)&regs + call->arg);
	regs.orig_ax = nr;
	/* Round up: a wait may be longer than asked for, never shorter. */
	if (call->kind == TIMEOUT_MS)
		*arg = min_t(s64, DIV_ROUND_UP_ULL(remaining_ns, NSEC_PER_MSEC), INT_MAX);
	else if (put_timespec(&regs, arg, remaining_ns))
		return -EINTR;
	return cryo_timed_call_fn(call->call)(&regs);
}
