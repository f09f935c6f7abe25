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

/* NULL: it is no such call, or its function is not known on this kernel. */
const struct cryo_waiting_call *cryo_waiting_call(u32 nr);

/*
 * As the call's own argument; @ts is a place in the program's memory for what does not fit, at
 * least 16 bytes.
 */
int cryo_waiting_call_timeout(const struct cryo_waiting_call *call, s64 remaining_ns,
			      unsigned long ts, unsigned long *arg);

/*
 * Does this call settle on EINTR although nothing has happened yet, so that it can be made again:
 * does it wait for something before it takes it?
 */
bool cryo_is_pure_wait(u32 nr);
bool cryo_waits_after_reading(u32 nr);

#endif /* CRYO_WAITING_CALLS_H */
