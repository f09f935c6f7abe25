// SPDX-License-Identifier: GPL-2.0-only
/* The pid is the old one; the process is a child of cr_restart, and can have children of its own. */
#define _GNU_SOURCE
#include "crtest.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pid;

static void setup(void)
{
	pid = getpid();
}

static void verify(void)
{
	char self[32] = "";
	int status = 0;
	pid_t child;

	crt_same(getpid(), pid, "pid");
	CRT_SYS(readlink("/proc/self", self, sizeof(self) - 1));
	crt_ok(strtol(self, NULL, 10) == pid, "/proc/self");
	crt_ok(getppid() != pid && getppid() > 0, "it has a parent");
	child = fork();
	if (!child)
		_exit(37);
	crt_same(waitpid(child, &status, 0), child, "a child can be made and reaped");
	crt_ok(WIFEXITED(status) && WEXITSTATUS(status) == 37, "and tells its exit status");
	crt_same(waitpid(-1, NULL, WNOHANG), -1, "there are no other children");
}

const struct crt_test crt_test = {
	.text = "the pid, as an ordinary user too",
	.setup = setup,
	.verify = verify,
};
