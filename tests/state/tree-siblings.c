// SPDX-License-Identifier: GPL-2.0-only
/*
 * Children that one of them has made for their parent (CLONE_PARENT), or that it has got when theirs died: with other exit signals, in
 * the session of one that went on to another program or to a session of its own, with one memory.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST, ADOPTED, MADE, LEADER, MEMBER, CHILDREN };

static const char *const names[] = { "first of two with one memory", "second, which was adopted", "a sibling with that one's signal",
				     "leader of a session, adopted", "made by that before, in its session" };
static const int signals[] = { SIGUSR1, SIGCHLD, SIGUSR1, SIGCHLD, SIGCHLD };

static struct {
	pid_t pids[CHILDREN], root;
	atomic_int ready, ask, told;
} *shared;

/* Of those two alone. */
static volatile long word;

static int rest(void *unused)
{
	(void)unused;
	for (;;) {
		if (shared->ask == 1) {
			word = 4711;
			shared->ask = 0;
		}
		usleep(10000);
	}
	return 0;
}

/* The other of the two looks on. */
static void look_on(void)
{
	for (;;) {
		shared->told = (int)word;
		usleep(10000);
	}
}

static char *stack(void)
{
	return (char *)CRT_MAP(mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) + 65536;
}

static int leave(void *of_child)
{
	shared->pids[ADOPTED] = clone(rest, of_child, CLONE_VM | SIGCHLD, NULL);
	_exit(0);
}

static pid_t start(unsigned long flags)
{
	return (pid_t)CRT_SYS(syscall(SYS_clone, flags, NULL, NULL, NULL, 0L));
}

static void be_first(void)
{
	pid_t between, pid;

	pid = start(CLONE_PARENT);
	if (!pid)
		for (;;)
			pause();
	shared->pids[MADE] = pid;
	between = (pid_t)CRT_SYS(clone(leave, stack(), CLONE_VM | SIGCHLD, stack()));
	CRT_SYS(waitpid(between, NULL, 0));
	shared->ready++;
	look_on();
}

/* Its parent ends: it has got SIGCHLD by that, and a child for its new parent then. */
static void be_leader(void)
{
	pid_t pid;

	while (getppid() != shared->root)
		usleep(1000);
	CRT_SYS(setsid());
	pid = start(CLONE_PARENT);
	if (!pid)
		for (;;)
			pause();
	shared->pids[MEMBER] = pid;
	shared->pids[LEADER] = getpid();
	shared->ready++;
	for (;;)
		pause();
}

static void setup(void)
{
	pid_t between, pid;

	shared = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	CRT_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	signal(SIGUSR1, SIG_IGN);
	shared->root = getpid();
	pid = start(SIGUSR1);
	if (!pid)
		be_first();
	shared->pids[FIRST] = pid;
	between = start(SIGCHLD);
	if (!between) {
		if (!start(0))
			be_leader();
		_exit(0);
	}
	CRT_SYS(waitpid(between, NULL, 0));
	while (shared->ready < 2)
		usleep(1000);
}

static int exit_signal(pid_t pid)
{
	char path[64], text[1024], *at;
	int signal = -1;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	crt_slurp(path, text, sizeof(text));
	at = strrchr(text, ')');
	/* Fields 3 to 37 first. */
	for (int i = 0; at && i < 36; i++)
		at = strchr(at + 1, ' ');
	if (at)
		sscanf(at, "%d", &signal);
	return signal;
}

static void verify(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		siginfo_t info = { 0 };

		crt_ok(!waitid(P_PID, (id_t)shared->pids[i], &info, WEXITED | WNOHANG | WNOWAIT | __WALL) && !info.si_pid,
		       "%s: is a child", names[i]);
		crt_same(exit_signal(shared->pids[i]), signals[i], "%s: exit signal", names[i]);
	}
	crt_same(getsid(shared->pids[LEADER]), shared->pids[LEADER], "the leader's session");
	crt_same(getsid(shared->pids[MEMBER]), shared->pids[LEADER], "that of the one it has made");
	shared->ask = 1;
	for (int i = 0; i < 500 && shared->told != 4711; i++)
		crt_sleep_ms(10);
	crt_same(shared->told, 4711, "what one writes the other one reads");
	for (int i = 0; i < CHILDREN; i++) {
		kill(shared->pids[i], SIGKILL);
		crt_same(waitpid(shared->pids[i], NULL, __WALL), shared->pids[i], "%s: is waited for", names[i]);
	}
}

const struct crt_test crt_test = {
	.text = "children that others of them have made",
	.setup = setup,
	.verify = verify,
	.dead_ms = 500,
};
