/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * regs.h - threads whose registers hold patterns: what is common to the architectures
 *
 * regs_arch.h of each knows the registers: struct regs of REGS_SIZE bytes, the code of regs_spin() and
 * regs_call(), and
 *
 *   regs_fill(regs, seed)			patterns, where any value will do
 *   regs_set_call(regs, number, args)		what regs_call() calls
 *   regs_result(regs)				of the call; an error is negative
 *   regs_verify(in, out, called, who)		@called: but for those that a system call may change
 *
 * and where there is more than one instruction for system calls
 *
 *   REGS_WAYS, regs_ways()			how many at most, and on this machine
 *   regs_set_way(regs, way)			with which of them regs_call() calls
 *   regs_way(regs)				what that is called
 */
#ifndef REGS_H
#define REGS_H

#include "crtest.h"
#include "regs_arch.h"
#include <pthread.h>

#ifndef REGS_WAYS
#define REGS_WAYS 1

static inline unsigned int regs_ways(void)
{
	return 1;
}

static inline void regs_set_way(struct regs *regs, unsigned int way)
{
	(void)regs;
	(void)way;
}

static inline const char *regs_way(const struct regs *regs)
{
	(void)regs;
	return "";
}
#endif

/* The assembly knows where these three are. */
struct regs_thread {
	struct regs in;			/* what is loaded */
	struct regs out;		/* what was there at the end */
	volatile uint64_t go;
	pthread_t thread;
};

_Static_assert(sizeof(struct regs) == REGS_SIZE, "known to the assembly");
_Static_assert(offsetof(struct regs_thread, out) == REGS_SIZE, "known to the assembly");
_Static_assert(offsetof(struct regs_thread, go) == 2 * REGS_SIZE, "known to the assembly");

/* With all registers loaded: waits until go is not 0, without changing one. */
void regs_spin(struct regs_thread *thread);
/* The same, for the system call that is in them. */
void regs_call(struct regs_thread *thread);

#endif /* REGS_H */
