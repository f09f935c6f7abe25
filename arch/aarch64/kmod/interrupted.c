// SPDX-License-Identifier: GPL-2.0-only
/*
 * interrupted.c - what interrupted system calls return within the kernel (aarch64)
 *
 * ERESTARTSYS and the like say whether a call ends with EINTR when a handler runs. do_signal()
 * takes that out of the registers before it runs the works in which threads park, and keeps it to
 * itself; so it is told here by which call it is. In a restart the thread gets it back in its
 * registers, and the kernel looks at it after the last of Cryo's works: so a signal that is pending
 * then ends the call as it would have before.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/time64.h>
#include <linux/uaccess.h>
#include <linux/unistd.h>
#include <uapi/linux/futex.h>
#include <asm/compat.h>

#include <cryo/arch/aarch64.h>
#include <cryo/ioctl.h>

#include "capture/capture.h"
#include "capture/read_memory.h"
#include "cryo_arch.h"
#include "interrupted.h"
#include "lib/buf.h"

#define SVC_0	0xd4000001

bool cryo_is_svc(struct cryo_request *req, struct task_struct *task, u64 at)
{
	u32 instruction;
	bool read;

	if (task == current)
		read = !get_user(instruction, (u32 __user *)at);
	else
		read = !cryo_read_memory(req, task, at, &instruction, sizeof(instruction));
	return read && instruction == SVC_0;
}

static int error_of_futex(const struct pt_regs *regs)
{
	switch (regs->regs[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		return regs->regs[3] ? -ERESTART_RESTARTBLOCK : -ERESTARTSYS;
	}
	/* Those of mutexes with priority inheritance are made again. */
	return 0;
}

static int error_of_nanosleep(const struct pt_regs *regs)
{
	return regs->regs[1] & TIMER_ABSTIME ? -ERESTARTNOHAND : -ERESTART_RESTARTBLOCK;
}

int cryo_interrupted_error(s32 nr, const struct pt_regs *regs)
{
	switch (nr) {
	case __NR_restart_syscall:
	case __NR_nanosleep:
		return -ERESTART_RESTARTBLOCK;
	case __NR_clock_nanosleep:
		return error_of_nanosleep(regs);
	case __NR_futex:
		return error_of_futex(regs);
	case __NR_rt_sigsuspend:
	case __NR_ppoll:
	case __NR_pselect6:
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
	case __NR_rt_sigtimedwait:
	case __NR_semtimedop:
	case __NR_semop:
	case __NR_msgrcv:
	case __NR_msgsnd:
	case __NR_io_getevents:
	case __NR_io_pgetevents:
	case __NR_io_uring_enter:
		return -ERESTARTNOHAND;
	case __NR_read:
	case __NR_readv:
	case __NR_pread64:
	case __NR_preadv:
	case __NR_preadv2:
	case __NR_write:
	case __NR_writev:
	case __NR_pwrite64:
	case __NR_pwritev:
	case __NR_pwritev2:
	case __NR_splice:
	case __NR_tee:
	case __NR_vmsplice:
	case __NR_sendfile:
	case __NR_recvfrom:
	case __NR_recvmsg:
	case __NR_recvmmsg:
	case __NR_sendto:
	case __NR_sendmsg:
	case __NR_sendmmsg:
	case __NR_connect:
	case __NR_accept:
	case __NR_accept4:
	case __NR_wait4:
	case __NR_waitid:
	case __NR_futex_waitv:
#ifdef __NR_futex_wait
	case __NR_futex_wait:
#endif
	case __NR_flock:
	case __NR_fcntl:
	case __NR_mq_timedsend:
	case __NR_mq_timedreceive:
	case __NR_openat:
	case __NR_openat2:
	case __NR_ioctl:
	case __NR_getrandom:
		return -ERESTARTSYS;
	}
	return 0;
}

bool cryo_is_interrupted(unsigned long result)
{
	switch ((long)result) {
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
	case -ERESTART_RESTARTBLOCK:
		return true;
	}
	return false;
}

/*
 * What an interrupt has left there has the last call's first argument beside it, and stands before
 * an instruction of its own, but for the one moment before a call.
 */
int cryo_interrupted_when_stopped(struct cryo_request *req, struct task_struct *task)
{
	struct pt_regs *regs = task_pt_regs(task);

	if (!task_is_stopped_or_traced(task) || compat_user_mode(regs) || in_syscall(regs) ||
	    regs->regs[0] != regs->orig_x0 || !cryo_is_svc(req, task, regs->pc))
		return 0;
	return cryo_interrupted_error(regs->regs[8], regs);
}

void cryo_interrupted_save(struct cryo_capture *c, struct task_struct *task, struct cryo_buf *buf)
{
	struct cryo_parked *p = cryo_find_parked(c->req, task);
	int error = p ? p->arch.error : 0;
	u32 out;

	if (!error && task != current)
		error = cryo_interrupted_when_stopped(c->req, task);
	out = -error;
	cryo_buf_put(buf, &out, sizeof(out));
}

int cryo_interrupted_check(const struct cryo_regset *set)
{
	const struct cryo_aarch64_call *call = (const void *)(unsigned long)set->data;

	BUILD_BUG_ON(offsetof(struct cryo_aarch64_call, error) != sizeof(s32));
	if (set->length != sizeof(*call) || !cryo_is_interrupted(-(unsigned long)call->error))
		return -EINVAL;
	return 0;
}

static const struct cryo_aarch64_call *find_call(const struct cryo_regset *sets, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (sets[i].note == CRYO_AARCH64_CALL)
			return (const void *)(unsigned long)sets[i].data;
	return NULL;
}

/* do_signal() forgets about the call first of all. */
bool cryo_arch_resume_begin(void)
{
	struct pt_regs *regs = current_pt_regs();
	bool will_look = in_syscall(regs);

	forget_syscall(regs);
	return will_look;
}

void cryo_arch_resume_call(const struct cryo_regset *sets, unsigned int n, bool will_look)
{
	const struct cryo_aarch64_call *call = find_call(sets, n);
	struct pt_regs *regs = current_pt_regs();

	if (!call || !will_look)
		return;
	regs->syscallno = regs->regs[8];
	regs->orig_x0 = regs->regs[0];
	regs->regs[0] = -(long)call->error;
	regs->pc += CRYO_SVC_BYTES;
}
