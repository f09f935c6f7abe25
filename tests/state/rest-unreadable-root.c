// SPDX-License-Identifier: GPL-2.0-only
/* A user's process that runs a program which its user may execute, and may not read: nor has it then what he could read of it. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ORDINARY 1000

static pid_t child;
static char program[300];

static void copy_program(void)
{
	char data[65536];
	int from = (int)CRT_SYS(open("/bin/sleep", O_RDONLY)), to;
	ssize_t n;

	snprintf(program, sizeof(program), "%s", crt_path("hidden"));
	to = (int)CRT_SYS(open(program, O_WRONLY | O_CREAT, 0700));
	while ((n = CRT_SYS(read(from, data, sizeof(data)))) > 0)
		CRT_SYS(write(to, data, (size_t)n));
	CRT_SYS(fchmod(to, 0111));
	close(from);
	close(to);
}

/* What /proc/PID/@name of the child says. */
static const char *said(const char *name)
{
	static char text[300];
	char path[64];

	memset(text, 0, sizeof(text));
	snprintf(path, sizeof(path), "/proc/%d/%s", child, name);
	if (strcmp(name, "exe"))
		crt_slurp(path, text, sizeof(text));
	else if (readlink(path, text, sizeof(text) - 1) < 0)
		return "?";
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static uid_t owner(void)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", child);
	CRT_SYS(stat(path, &st));
	return st.st_uid;
}

static void setup(void)
{
	copy_program();
	CRT_SYS(chmod(crt_dir(), 0755));
	child = (pid_t)CRT_SYS(fork());
	if (!child) {
		if (setresgid(ORDINARY, ORDINARY, ORDINARY) || setresuid(ORDINARY, ORDINARY, ORDINARY))
			_exit(1);
		execl(program, "hidden", "100000", NULL);
		_exit(1);
	}
	for (int i = 0; i < 1000 && strcmp(said("comm"), "hidden"); i++)
		crt_sleep_ms(10);
	if (owner() != 0)
		crt_skip("this kernel takes it for one that may be looked into");
}

static void verify(void)
{
	crt_same(waitpid(child, NULL, WNOHANG), 0, "it runs");
	/* It may be a copy without a name: who could not restart it otherwise is given one. */
	crt_ok(strstr(said("exe"), "hidden"), "its program: %s", said("exe"));
	crt_same(owner(), 0, "nobody but root may look into it");
	kill(child, SIGKILL);
	crt_same(waitpid(child, NULL, 0), child, "and ends");
}

const struct crt_test crt_test = {
	.text = "a program that may be executed, not read",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
