// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members of sessions and process groups whose leaders are gone: some run, some have exited and were not waited for. In the case
 * "namespace" all are in a pid namespace, whose first process has them for children.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SESSION = 1, EXITED = 2, PLACES = 4, ROUNDS = 2, MEMBERS = PLACES * ROUNDS };

static const char *const names[PLACES] = { "in a group", "in a session", "exited in a group", "exited in a session" };

static struct {
	atomic_int ready, end;
	struct {
		pid_t outer, number;	/* as the test and as its parent call it */
	} member[MEMBERS];
} *shared;

static struct {
	pid_t parent, group, session;
	char state;
} before[MEMBERS];

static pid_t first;

static pid_t outer_pid(void)
{
	char text[32] = "";

	CRT_SYS(readlink("/proc/self", text, sizeof(text) - 1));
	return atoi(text);
}

static void look(int who, pid_t *parent, pid_t *group, pid_t *session, char *state)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)shared->member[who].outer);
	crt_slurp(path, text, sizeof(text));
	*state = '-';
	sscanf(strrchr(text, ')') + 1, " %c %d %d %d", state, parent, group, session);
	if (*state == 'R')
		*state = 'S';
}

static void be_member(int who)
{
	shared->member[who].outer = outer_pid();
	shared->member[who].number = getpid();
	if (who & EXITED)
		_exit(40 + who);
	for (;;)
		pause();
}

/* The leader forks the member, and is waited for. */
static void begin(int who)
{
	pid_t leader = (pid_t)CRT_SYS(fork());

	if (!leader) {
		if (who & SESSION)
			CRT_SYS(setsid());
		else
			CRT_SYS(setpgid(0, 0));
		if (!CRT_SYS(fork()))
			be_member(who);
		_exit(0);
	}
	CRT_SYS(waitpid(leader, NULL, 0));
	while (!*(volatile pid_t *)&shared->member[who].number)
		crt_sleep_ms(1);
	if (who & EXITED)
		CRT_SYS(waitid(P_PID, (id_t)shared->member[who].number, &(siginfo_t){ 0 }, WEXITED | WNOWAIT));
}

static void begin_all(void)
{
	CRT_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
	for (int who = 0; who < MEMBERS; who++)
		begin(who);
	shared->ready = 1;
}

/* Returns how many of those that have exited do not tell so rightly. */
static int end_all(void)
{
	int wrong = 0;

	for (int who = 0; who < MEMBERS; who++) {
		pid_t number = shared->member[who].number;
		int status = 0;

		if (!(who & EXITED))
			kill(number, SIGKILL);
		if (waitpid(number, &status, 0) != number ||
		    status != (who & EXITED ? (40 + who) << 8 : SIGKILL))
			wrong++;
	}
	return wrong;
}

static void be_first(void)
{
	begin_all();
	while (!shared->end)
		crt_sleep_ms(10);
	_exit(end_all());
}

static void setup(void)
{
	shared = CRT_MAP(mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	if (crt_case) {
		crt_unshare_users(CLONE_NEWPID);
		first = (pid_t)CRT_SYS(fork());
		if (!first)
			be_first();
		while (!shared->ready)
			crt_sleep_ms(10);
	} else {
		begin_all();
	}
	for (int who = 0; who < MEMBERS; who++)
		look(who, &before[who].parent, &before[who].group, &before[who].session, &before[who].state);
	if (before[EXITED].state != 'Z')
		crt_die("pid %d is in state %c", (int)shared->member[EXITED].outer, before[EXITED].state);
}

static void verify(void)
{
	pid_t parent = 0, group = 0, session = 0;
	int status = 0;
	char state;

	for (int who = 0; who < MEMBERS; who++) {
		const char *name = names[who % PLACES];

		look(who, &parent, &group, &session, &state);
		crt_same(parent, before[who].parent, "%s: parent", name);
		crt_same(group, before[who].group, "%s: group", name);
		crt_same(session, before[who].session, "%s: session", name);
		crt_same(state, before[who].state, "%s: state", name);
	}
	if (first) {
		shared->end = 1;
		CRT_SYS(waitpid(first, &status, 0));
	} else {
		status = end_all();
	}
	crt_same(status, 0, "their ends are told to their parent");
}

const struct crt_test crt_test = {
	.text = "members of sessions and groups whose leaders are gone",
	.setup = setup,
	.verify = verify,
	.cases = "namespace",
};
