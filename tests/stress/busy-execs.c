// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tree in which there is always somebody in exec().
 *
 *     busy-execs	says "up"; ends by SIGTERM, with its children
 *     busy-execs again	is one of its children, which executes itself for ever
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CHILDREN 3

static int again(void)
{
	execl("/proc/self/exe", "busy-execs", "again", NULL);
	perror("busy-execs: exec");
	return 1;
}

int main(int argc, char **argv)
{
	pid_t parent = getpid();

	if (argc > 1 && !strcmp(argv[1], "again"))
		return again();
	for (int i = 0; i < CHILDREN; i++) {
		switch (fork()) {
		case 0:
			/* exec() keeps it. */
			if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
				return 1;
			return again();
		case -1:
			perror("busy-execs: fork");
			return 1;
		}
	}
	printf("up\n");
	fflush(stdout);
	for (;;)
		pause();
}
