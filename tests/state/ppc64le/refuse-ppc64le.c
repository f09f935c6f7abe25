// SPDX-License-Identifier: GPL-2.0-only
/* The same as refuse.c, for what only ppc64le has. */
#define _GNU_SOURCE
#include "refuse-run.h"
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static volatile int other_tid;

static bool make_unaligned(void)
{
	if (prctl(PR_SET_UNALIGN, PR_UNALIGN_SIGBUS))
		return false;
	crt_expect("pid %d|thread %d: control of unaligned accesses (PR_SET_UNALIGN) is not supported", getpid(), getpid());
	return true;
}

static void *run_big_endian(void *arg)
{
	(void)arg;
	other_tid = (int)syscall(SYS_gettid);
	/* Behind the call, the next words are read the other way round: b . */
	__asm__ volatile("li 0, 363\nsc\n.long 0x00000048\n" : : : "r0", "r3", "cr0", "ctr", "xer", "memory");
	return NULL;
}

static bool make_big_endian(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_big_endian, NULL))
		return false;
	while (!other_tid)
		crt_sleep_ms(1);
	crt_sleep_ms(50);
	crt_expect("pid %d|thread %d: runs big-endian code, which is not supported", getpid(), other_tid);
	return true;
}

struct obstacle obstacles[] = {
	{ .name = "unaligned", .make = make_unaligned },
	{ .name = "big-endian", .make = make_big_endian },
};

const unsigned int nr_obstacles = sizeof(obstacles) / sizeof(obstacles[0]);

const struct crt_test crt_test = {
	.text = "what only this architecture has, and cannot be restored, is refused by name",
	.setup = refuse_setup,
	.verify = refuse_verify,
	.flags = CRT_REFUSE,
	.cases = "unaligned big-endian",
};
