// SPDX-License-Identifier: GPL-2.0-only
/* What a parent has been told of the stops of its children, and has waited for, it is not told again; the rest it is told later. */
#define _GNU_SOURCE
#include "crtest.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAITED, UNWAITED, TERMINAL, CONTINUED, OVER, CHILDREN };

static const struct {
	const char *name;
	int signal;		/* that stops it */
	int waited;		/* 1: for its stop; 2: for what comes then, too */
	int goes_on;
	int code;		/* what its parent may still wait for */
} kinds[CHILDREN] = {
	[WAITED] = { "stopped, waited for", SIGSTOP, 1, 0, 0 },
	[UNWAITED] = { "stopped, not waited for", SIGSTOP, 0, 0, CLD_STOPPED },
	[TERMINAL] = { "stopped by SIGTSTP, waited for", SIGTSTP, 1, 0, 0 },
	[CONTINUED] = { "continued, not waited for", SIGSTOP, 1, 1, CLD_CONTINUED },
	[OVER] = { "continued, waited for", SIGSTOP, 2, 1, 0 },
};

static pid_t children[CHILDREN];
static volatile sig_atomic_t told;

static void on_child(int sig)
{
	(void)sig;
	told++;
}

static char state_of(pid_t pid)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	crt_slurp(path, text, sizeof(text));
	return strrchr(text, ')')[2];
}

static int look(pid_t pid, int options)
{
	siginfo_t info = { 0 };

	CRT_SYS(waitid(P_PID, (id_t)pid, &info, options));
	return info.si_pid ? info.si_code : 0;
}

static void begin(int who)
{
	pid_t pid = (pid_t)CRT_SYS(fork());

	if (!pid)
		for (;;)
			pause();
	children[who] = pid;
	CRT_SYS(setpgid(pid, pid));
	CRT_SYS(kill(pid, kinds[who].signal));
	CRT_SYS(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WSTOPPED | (kinds[who].waited ? 0 : WNOWAIT)));
	if (!kinds[who].goes_on)
		return;
	CRT_SYS(kill(pid, SIGCONT));
	CRT_SYS(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WCONTINUED | (kinds[who].waited > 1 ? 0 : WNOWAIT)));
}

static void setup(void)
{
	CRT_SYS(signal(SIGCHLD, on_child) == SIG_ERR ? -1 : 0);
	for (int who = 0; who < CHILDREN; who++)
		begin(who);
	/* Two for each that goes on. */
	for (int i = 0; i < 100 && told < CHILDREN + 2; i++)
		crt_sleep_ms(1);
	told = 0;
}

static void verify(void)
{
	for (int who = 0; who < CHILDREN; who++) {
		const char *name = kinds[who].name;
		char state = kinds[who].goes_on ? 'S' : 'T', now;

		for (int i = 0; i < 500 && (now = state_of(children[who])) != state; i++)
			crt_sleep_ms(10);
		crt_same(now, state, "%s: state", name);
		/* A moment, as what is wrongly told comes when the last of its threads has stopped. */
		crt_sleep_ms(50);
		crt_same(look(children[who], WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT), kinds[who].code,
			 "%s: what there is to wait for", name);
		if (kinds[who].code == CLD_STOPPED)
			CRT_SYS(waitid(P_PID, (id_t)children[who], &(siginfo_t){ 0 }, WSTOPPED));
	}
	crt_same(told, 0, "signals that tell of it");
	for (int who = 0; who < CHILDREN; who++) {
		CRT_SYS(kill(children[who], SIGCONT));
		if (!kinds[who].goes_on)
			crt_same(look(children[who], WCONTINUED), CLD_CONTINUED, "%s: goes on", kinds[who].name);
		CRT_SYS(kill(children[who], SIGKILL));
		CRT_SYS(waitpid(children[who], NULL, 0));
	}
}

const struct crt_test crt_test = {
	.text = "stops that have been waited for",
	.setup = setup,
	.verify = verify,
};
