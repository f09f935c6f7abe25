// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who children were that have exited and were not waited for: as waitid(2) tells it, and /proc. In the case "user-namespace" they
 * and their parent are in one.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USER, KILLED, MIXED, SAME, CHILDREN };

static const char *const names[] = { "an ordinary user", "one that was killed", "a user with another effective id", "root" };
static const char *const lines[] = { "Uid", "Gid", "Groups" };

#define LINES (sizeof(lines) / sizeof(lines[0]))

static pid_t children[CHILDREN];
static char before[CHILDREN][LINES][128];
static siginfo_t told[CHILDREN];

static void be(int who)
{
	gid_t groups[] = { 7, 4711 };

	switch (who) {
	case USER:
		CRT_SYS(setgroups(2, groups));
		CRT_SYS(setgid(1000));
		CRT_SYS(setuid(1001));
		_exit(3);
	case KILLED:
		CRT_SYS(setgroups(0, NULL));
		CRT_SYS(setuid(1002));
		raise(SIGKILL);
		break;
	case MIXED:
		CRT_SYS(setresgid(10, 20, 30));
		CRT_SYS(setresuid(1000, 2000, 3000));
		_exit(4);
	}
	_exit(5);
}

static void line_of(int who, size_t line, char *buf, size_t size)
{
	char path[64], text[8192], *at;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)children[who]);
	crt_slurp(path, text, sizeof(text));
	snprintf(path, sizeof(path), "\n%s:", lines[line]);
	at = strstr(text, path);
	snprintf(buf, size, "%.*s", at ? (int)strcspn(at + 1, "\n") : 0, at ? at + 1 : "");
}

/* All numbers up to 65535 are those from 100000 on outside: somebody outside has to say so. */
static void enter_namespace(void)
{
	int unshared[2], mapped[2];
	char path[64], byte;
	pid_t self = getpid(), helper;

	CRT_SYS(pipe(unshared));
	CRT_SYS(pipe(mapped));
	helper = (pid_t)CRT_SYS(fork());
	if (!helper) {
		CRT_SYS(read(unshared[0], &byte, 1));
		snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)self);
		crt_put(path, "0 100000 65536", 0);
		snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)self);
		crt_put(path, "0 100000 65536", 0);
		CRT_SYS(write(mapped[1], "x", 1));
		_exit(0);
	}
	CRT_SYS(unshare(CLONE_NEWUSER));
	CRT_SYS(write(unshared[1], "x", 1));
	CRT_SYS(read(mapped[0], &byte, 1));
	CRT_SYS(waitpid(helper, NULL, 0));
	for (int i = 0; i < 2; i++) {
		CRT_SYS(close(unshared[i]));
		CRT_SYS(close(mapped[i]));
	}
	CRT_SYS(setresgid(0, 0, 0));
	CRT_SYS(setresuid(0, 0, 0));
}

static void setup(void)
{
	/* Whoever it is outside. */
	CRT_SYS(chmod(crt_dir(), 0777));
	if (crt_case)
		enter_namespace();
	for (int i = 0; i < CHILDREN; i++) {
		children[i] = (pid_t)CRT_SYS(fork());
		if (!children[i])
			be(i);
		CRT_SYS(waitid(P_PID, (id_t)children[i], &told[i], WEXITED | WNOWAIT));
		for (size_t line = 0; line < LINES; line++)
			line_of(i, line, before[i][line], sizeof(before[i][line]));
	}
	if (told[USER].si_uid != 1001)
		crt_die("waitid() tells of user %u", (unsigned int)told[USER].si_uid);
}

static void verify(void)
{
	siginfo_t now;
	char text[128];

	for (int i = 0; i < CHILDREN; i++) {
		for (size_t line = 0; line < LINES; line++) {
			line_of(i, line, text, sizeof(text));
			crt_same_str(text, before[i][line], "%s: %s", names[i], lines[line]);
		}
		memset(&now, 0, sizeof(now));
		CRT_SYS(waitid(P_PID, (id_t)children[i], &now, WEXITED));
		crt_same(now.si_uid, told[i].si_uid, "%s: as waitid() tells", names[i]);
		crt_same(now.si_status, told[i].si_status, "with its status");
		crt_same(now.si_code, told[i].si_code == CLD_DUMPED ? CLD_KILLED : told[i].si_code, "and how it ended");
	}
}

const struct crt_test crt_test = {
	.text = "users of processes that have exited",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
	.cases = "user-namespace",
};
