// SPDX-License-Identifier: GPL-2.0-only
/*
 * mount-tables NAMESPACES DIRECTORY - a job whose mount namespaces have long tables, for little memory of its own
 *
 * A line of /proc/PID/mountinfo has two paths, with four characters for each blank.  As many processes, each with a copy of all
 * mounts in a namespace of its own; says "ready" and waits.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH 14
#define MOUNTS 1100

static void die(const char *what)
{
	fprintf(stderr, "mount-tables: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void go_deep(void)
{
	char name[256];

	memset(name, ' ', 255);
	name[255] = '\0';
	for (int i = 0; i < DEPTH; i++)
		if ((mkdir(name, 0755) && errno != EEXIST) || chdir(name))
			die("directory");
}

int main(int argc, char **argv)
{
	char name[16];

	if (argc != 3 || chdir(argv[2]))
		die("usage: mount-tables NAMESPACES DIRECTORY");
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		die("namespace");
	for (int i = 0; i < MOUNTS; i++) {
		snprintf(name, sizeof(name), "%d", i);
		if (chdir(argv[2]) || mkdir(name, 0755) || chdir(name))
			die(name);
		go_deep();
		if (mount(".", ".", NULL, MS_BIND, NULL))
			die("mount");
	}
	if (chdir("/"))
		die("/");
	for (int i = 1; i < atoi(argv[1]); i++) {
		const pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNS))
			die("namespace");
		break;
	}
	if (write(1, "ready\n", 6) != 6)
		die("write");
	for (;;)
		pause();
}
