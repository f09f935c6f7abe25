// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process that shares memory with its parent (CLONE_VM), which has it from one that is gone: that had begun the session, and
 * shared the memory, too.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int asked, answered;
static volatile pid_t member;
static pid_t leader;

static char *stack(void)
{
	return (char *)CRT_MAP(mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) + 65536;
}

static int answer(void *unused)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	(void)unused;
	for (;;) {
		answered = asked;
		syscall(SYS_nanosleep, &pause, NULL);
	}
	return 0;
}

static int lead(void *of_member)
{
	syscall(SYS_setsid);
	member = clone(answer, of_member, CLONE_VM | SIGCHLD, NULL);
	_exit(0);
}

static void setup(void)
{
	CRT_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	leader = (pid_t)CRT_SYS(clone(lead, stack(), CLONE_VM | SIGCHLD, stack()));
	CRT_SYS(waitpid(leader, NULL, 0));
}

static void verify(void)
{
	siginfo_t info = { 0 };

	crt_ok(!waitid(P_PID, (id_t)member, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid, "it is a child");
	crt_same(getsid(member), leader, "in the session of who is gone");
	crt_same(getpgid(member), leader, "and its process group");
	asked = 4711;
	for (int i = 0; i < 500 && answered != 4711; i++)
		crt_sleep_ms(10);
	crt_same(answered, 4711, "they have one memory");
	kill(member, SIGKILL);
	crt_same(waitpid(member, NULL, 0), member, "it is waited for");
}

const struct crt_test crt_test = {
	.text = "memory in common by one that is gone",
	.setup = setup,
	.verify = verify,
	.dead_ms = 300,
};
