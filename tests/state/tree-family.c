// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tree of processes: parents, children, orphans of a subreaper, what has exited and was not waited
 * for, and the ids of process groups and sessions, of which some have outlived their leaders.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD, LEADER, MEMBER, SESSION, EARLY, LATE, ORPHAN, LEFT, MEMBERS };

static const char *const names[] = {
	"a child", "leader of a group", "member of that group", "leader of a session", "child from before setsid()",
	"child from after setsid()", "member of a session without its leader", "member of a group without its leader",
};

struct ids {
	pid_t pid, ppid, pgid, sid;
};

static struct {
	atomic_uint round;		/* the members tell their ids in each */
	struct {
		struct ids ids;
		atomic_uint told;
	} member[MEMBERS];
} *shared;

static struct ids before[MEMBERS], root;
static pid_t exited, killed;

static struct ids my_ids(void)
{
	return (struct ids){ getpid(), getppid(), getpgrp(), getsid(0) };
}

static void live(int who)
{
	for (unsigned int round = 0;;) {
		if (atomic_load(&shared->round) == round) {
			crt_sleep_ms(10);
			continue;
		}
		round = atomic_load(&shared->round);
		shared->member[who].ids = my_ids();
		atomic_store(&shared->member[who].told, round);
	}
}

static pid_t start(int who, void (*first)(void))
{
	pid_t pid = (pid_t)CRT_SYS(fork());

	if (!pid) {
		if (first)
			first();
		live(who);
	}
	return pid;
}

static void lead_group(void)
{
	CRT_SYS(setpgid(0, 0));
	start(MEMBER, NULL);
}

static void lead_session(void)
{
	start(EARLY, NULL);
	CRT_SYS(setsid());
	start(LATE, NULL);
}

/* Its child stays in the session when it is gone. */
static void leave_orphan(void)
{
	CRT_SYS(setsid());
	start(ORPHAN, NULL);
	_exit(0);
}

static void leave_group(void)
{
	pid_t leader = (pid_t)CRT_SYS(fork());

	if (!leader) {
		pause();
		_exit(0);
	}
	CRT_SYS(setpgid(leader, leader));
	CRT_SYS(setpgid(0, leader));
	kill(leader, SIGKILL);
	CRT_SYS(waitpid(leader, NULL, 0));
}

/* What has exited has a name, too. */
static void name_of(pid_t pid, char *name, size_t size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "r");
	if (!file || !fgets(name, (int)size, file))
		*name = 0;
	if (file)
		fclose(file);
}

static bool all_told(void)
{
	atomic_fetch_add(&shared->round, 1);
	for (int i = 0; i < MEMBERS; i++)
		for (int wait = 0; atomic_load(&shared->member[i].told) != atomic_load(&shared->round); wait++) {
			if (wait == 1000) {
				crt_diag("%s does not answer", names[i]);
				return false;
			}
			crt_sleep_ms(10);
		}
	return true;
}

static void setup(void)
{
	pid_t gone;

	shared = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	CRT_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	start(CHILD, NULL);
	start(LEADER, lead_group);
	start(SESSION, lead_session);
	start(LEFT, leave_group);
	gone = start(ORPHAN, leave_orphan);
	CRT_SYS(waitpid(gone, NULL, 0));
	exited = (pid_t)CRT_SYS(fork());
	if (!exited)
		_exit(42);
	killed = (pid_t)CRT_SYS(fork());
	if (!killed)
		for (;;)
			pause();
	kill(killed, SIGTERM);
	CRT_SYS(waitid(P_PID, (id_t)exited, &(siginfo_t){ 0 }, WEXITED | WNOWAIT));
	CRT_SYS(waitid(P_PID, (id_t)killed, &(siginfo_t){ 0 }, WEXITED | WNOWAIT));
	if (!all_told())
		crt_die("the tree does not come up");
	for (int i = 0; i < MEMBERS; i++)
		before[i] = shared->member[i].ids;
	root = my_ids();
}

/* The group and session of the first process may be those of cr_restart now. */
static pid_t mapped(pid_t id, pid_t was, pid_t now)
{
	return id == was ? now : id;
}

static void verify(void)
{
	struct ids now = my_ids();
	char name[32], own[32];
	int status = 0;

	if (!crt_ok(all_told(), "all processes live"))
		return;
	for (int i = 0; i < MEMBERS; i++) {
		struct ids ids = shared->member[i].ids;

		crt_same(ids.pid, before[i].pid, "%s: pid", names[i]);
		crt_same(ids.ppid, before[i].ppid, "%s: parent", names[i]);
		crt_same(ids.pgid, mapped(before[i].pgid, root.pgid, now.pgid), "%s: process group", names[i]);
		crt_same(ids.sid, mapped(before[i].sid, root.sid, now.sid), "%s: session", names[i]);
	}
	name_of(exited, name, sizeof(name));
	name_of(getpid(), own, sizeof(own));
	crt_same_str(name, own, "what had exited is called");
	crt_same(waitpid(exited, &status, WNOHANG), exited, "what had exited can be waited for");
	crt_ok(WIFEXITED(status) && WEXITSTATUS(status) == 42, "and with which status");
	crt_same(waitpid(killed, &status, WNOHANG), killed, "what had been killed, too");
	crt_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "and by which signal");
	crt_same(waitpid(-1, &status, WNOHANG), 0, "the others are children that live");
	for (int i = 0; i < MEMBERS; i++)
		kill(before[i].pid, SIGKILL);
	crt_same(waitpid(before[CHILD].pid, &status, 0), before[CHILD].pid, "a child can be waited for");
}

const struct crt_test crt_test = {
	.text = "a tree of processes has its shape and its ids",
	.setup = setup,
	.verify = verify,
};
