// SPDX-License-Identifier: GPL-2.0-only
/* waiting_calls.c - system calls that wait, by their numbers */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/uaccess.h>
#include <linux/unistd.h>

#include "syscalls/waiting_calls.h"

bool cryo_is_pure_wait(u32 nr)
{
	switch (nr) {
#ifdef __NR_epoll_wait
	case __NR_epoll_wait:
#endif
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
	case __NR_rt_sigtimedwait:
#ifdef __NR_semop
	case __NR_semop:
#endif
	case __NR_semtimedop:
	case __NR_io_getevents:
	case __NR_io_pgetevents:
	case __NR_io_uring_enter:	/* EINTR only when it has submitted nothing */
	/* With SO_RCVTIMEO or SO_SNDTIMEO; EINTR says that not a byte was transferred. */
	case __NR_read:
	case __NR_readv:
#ifdef __NR_recv
	case __NR_recv:
#endif
	case __NR_recvfrom:
	case __NR_recvmsg:
	case __NR_recvmmsg:
	case __NR_write:
	case __NR_writev:
#ifdef __NR_send
	case __NR_send:
#endif
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

/*
 * With what they wait for in memory of the caller's, which may itself be waited for. Not those of
 * files, which may be on a server.
 */
bool cryo_waits_after_reading(u32 nr)
{
	switch (nr) {
	case __NR_read:
	case __NR_readv:
	case __NR_write:
	case __NR_writev:
	case __NR_io_uring_enter:
		return false;
#ifdef __NR_ipc
	case __NR_ipc:
		return true;
#endif
	}
	return cryo_is_pure_wait(nr);
}

static const struct cryo_waiting_call calls[] = {
#ifdef __NR_epoll_wait
	{ __NR_epoll_wait, CRYO_CALL_EPOLL_WAIT, 3, CRYO_TIMEOUT_MS },
#endif
	{ __NR_epoll_pwait, CRYO_CALL_EPOLL_PWAIT, 3, CRYO_TIMEOUT_MS },
	{ __NR_epoll_pwait2, CRYO_CALL_EPOLL_PWAIT2, 3, CRYO_TIMEOUT_TIMESPEC },
	{ __NR_rt_sigtimedwait, CRYO_CALL_SIGTIMEDWAIT, 2, CRYO_TIMEOUT_TIMESPEC },
	{ __NR_semtimedop, CRYO_CALL_SEMTIMEDOP, 3, CRYO_TIMEOUT_TIMESPEC },
};

const struct cryo_waiting_call *cryo_waiting_call(u32 nr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].nr == nr)
			return cryo_timed_call_fn(calls[i].call) ? &calls[i] : NULL;
	return NULL;
}

static int put_timespec(unsigned long at, s64 ns)
{
	struct timespec64 ts = ns_to_timespec64(ns);
	struct __kernel_timespec out = { ts.tv_sec, ts.tv_nsec };

	return copy_to_user((void __user *)at, &out, sizeof(out)) ? -EFAULT : 0;
}

int cryo_waiting_call_timeout(const struct cryo_waiting_call *call, s64 remaining_ns,
			      unsigned long ts, unsigned long *arg)
{
	/* Round up: a wait may be longer than asked for, never shorter. */
	if (call->kind == CRYO_TIMEOUT_MS) {
		*arg = min_t(s64, DIV_ROUND_UP_ULL(remaining_ns, NSEC_PER_MSEC), INT_MAX);
		return 0;
	}
	*arg = ts;
	return put_timespec(ts, remaining_ns);
}
