// SPDX-License-Identifier: GPL-2.0-only
/*
 * A time namespace as unshare -T --fork makes it: for the children of a process that is not in it itself, and one more
 * that a child has made for its own.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

#define DEAD_MS 3000
#define TOLERANCE_MS 2000

enum { PARENT, CHILD, GRANDCHILD, MEMBERS };

static const char *const names[] = { "parent", "child", "grandchild" };
static const long offsets[] = { 0, 1000000, 3000000 };	/* seconds that a member's clock is ahead of the parent's */

static struct {
	atomic_uint round;
	struct {
		int64_t ms;		/* its clock, less that of the parent */
		bool made;		/* its children are in another namespace than itself */
		atomic_uint told;
	} member[MEMBERS];
	int64_t now_ms;			/* of the parent, when it asks */
} *shared;

static int64_t apart_before[MEMBERS];
static int64_t wall_before_ms;		/* less the parent's clock */
static pid_t child;

static int64_t now_ms(clockid_t clock)
{
	struct timespec now;

	CRT_SYS(clock_gettime(clock, &now));
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void make_for_children(long ahead)
{
	char text[64];

	CRT_SYS(unshare(CLONE_NEWTIME));
	snprintf(text, sizeof(text), "monotonic %ld 0\nboottime %ld 0\n", ahead, ahead);
	crt_put("/proc/self/timens_offsets", text, 0);
}

static void tell(int who, unsigned int round)
{
	struct stat own, children;

	CRT_SYS(stat("/proc/self/ns/time", &own));
	CRT_SYS(stat("/proc/self/ns/time_for_children", &children));
	shared->member[who].ms = now_ms(CLOCK_MONOTONIC) - shared->now_ms;
	shared->member[who].made = own.st_ino != children.st_ino;
	atomic_store(&shared->member[who].told, round);
}

static void live(int who)
{
	for (unsigned int round = 0;;) {
		if (atomic_load(&shared->round) == round) {
			crt_sleep_ms(5);
			continue;
		}
		round = atomic_load(&shared->round);
		tell(who, round);
	}
}

static void start_child(void)
{
	CRT_SYS(prctl(PR_SET_PDEATHSIG, SIGKILL));
	make_for_children(offsets[GRANDCHILD]);
	if (CRT_SYS(fork()))
		live(CHILD);
	CRT_SYS(prctl(PR_SET_PDEATHSIG, SIGKILL));
	live(GRANDCHILD);
}

static bool ask(void)
{
	unsigned int round;

	shared->now_ms = now_ms(CLOCK_MONOTONIC);
	round = atomic_fetch_add(&shared->round, 1) + 1;
	tell(PARENT, round);
	for (int i = 0; i < MEMBERS; i++)
		for (int wait = 0; atomic_load(&shared->member[i].told) != round; wait++) {
			if (wait == 2000)
				return false;
			crt_sleep_ms(5);
		}
	return true;
}

static void setup(void)
{
	if (access("/proc/self/ns/time", F_OK))
		crt_skip("no time namespaces");
	shared = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	crt_unshare_users(0);
	make_for_children(offsets[CHILD]);
	child = (pid_t)CRT_SYS(fork());
	if (!child)
		start_child();
	if (!ask())
		crt_die("the children do not come up");
	for (int i = 0; i < MEMBERS; i++)
		apart_before[i] = shared->member[i].ms;
	wall_before_ms = now_ms(CLOCK_REALTIME) - now_ms(CLOCK_MONOTONIC);
}

/* The namespaces' clocks stand still while the job does not exist; that of the parent is the machine's. */
static void verify(void)
{
	int64_t dead_ms = crt_gap_ns() / 1000000;
	int64_t wall_ms = now_ms(CLOCK_REALTIME) - now_ms(CLOCK_MONOTONIC) - wall_before_ms;
	/* Clocks that went on would be all of it off. How long a restart takes, they do go on. */
	int64_t tolerance_ms = dead_ms / 2 > TOLERANCE_MS ? dead_ms / 2 : TOLERANCE_MS;

	if (!crt_ok(ask(), "all processes live"))
		return;
	crt_ok(labs((long)wall_ms) < TOLERANCE_MS, "the parent's clock goes on with the machine (%lld ms)", (long long)wall_ms);
	for (int i = CHILD; i < MEMBERS; i++) {
		int64_t error = apart_before[i] - shared->member[i].ms - dead_ms;

		crt_ok(labs((long)(apart_before[i] - offsets[i] * 1000)) < TOLERANCE_MS, "the clock of the %s is its own", names[i]);
		crt_ok(labs((long)error) < tolerance_ms, "it goes on where it was (%lld ms)", (long long)error);
	}
	for (int i = 0; i < MEMBERS; i++)
		crt_same(shared->member[i].made, i != GRANDCHILD, "%s: has another namespace for its children", names[i]);
	int status = 0;
	pid_t next = (pid_t)CRT_SYS(fork());
	if (!next)
		_exit(now_ms(CLOCK_MONOTONIC) - shared->now_ms > offsets[CHILD] * 1000 / 2 ? 17 : 1);
	CRT_SYS(waitpid(next, &status, 0));
	crt_same(WEXITSTATUS(status), 17, "the next child is born in it");
}

const struct crt_test crt_test = {
	.text = "a time namespace for children",
	.setup = setup,
	.verify = verify,
	.dead_ms = DEAD_MS,
};
