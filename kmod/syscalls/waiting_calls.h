/* SPDX-License-Identifier: GPL-2.0-only */
/* waiting_calls.h - system calls that wait, by their numbers: for arch/<a>/kmod */
#ifndef CRYO_WAITING_CALLS_H
#define CRYO_WAITING_CALLS_H

#include <linux/types.h>

#include "compat/ksym.h"

enum cryo_timeout_kind {
	CRYO_TIMEOUT_MS,	/* int, milliseconds */
	CRYO_TIMEOUT_TIMESPEC,	/* pointer to struct timespec */
};

/* A call that cryo_arch_continue_timed() knows, and where its timeout is. */
struct cryo_waiting_call {
	u32 nr;
	enum cryo_timed_call call;
	unsigned int arg;		/* counted from 0 */
	enum cryo_timeout_kind kind;
};

/**
 * cryo_waiting_call() - the description of a system call with a timeout that can be continued
 * @nr: number of the call
 *
 * Return: static; NULL: it is no such call, or this kernel lacks its function.
 */
const struct cryo_waiting_call *cryo_waiting_call(u32 nr);

/**
 * cryo_waiting_call_timeout() - convert a remaining time to the timeout argument of a call
 * @call: the call
 * @remaining_ns: the time, which is rounded up
 * @ts: an address in the program's memory, of at least 16 bytes, for a timeout that is passed by
 *	reference
 * @arg: gets the argument
 *
 * Context: In current, which makes the call. May fault on user memory.
 *
 * Return: 0 or -EFAULT.
 */
int cryo_waiting_call_timeout(const struct cryo_waiting_call *call, s64 remaining_ns,
			      unsigned long ts, unsigned long *arg);

/**
 * cryo_is_pure_wait() - does EINTR of a system call mean that it has had no effect, so that it can
 *	be made again?
 * @nr: number of the call
 *
 * Return: true: it waits for something before it takes it.
 */
bool cryo_is_pure_wait(u32 nr);

/**
 * cryo_waits_after_reading() - does a system call read the caller's memory before it waits for its
 *	event?
 * @nr: number of the call
 *
 * That memory may have to be waited for itself. Not of calls on files, which may be on a server.
 *
 * Return: true: it does.
 */
bool cryo_waits_after_reading(u32 nr);

#endif /* CRYO_WAITING_CALLS_H */
