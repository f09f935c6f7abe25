// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tree in which there is always somebody in exec(), or in vfork().
 *
 *     busy-execs	has children that execute themselves for ever; says "up"; ends by SIGTERM, with them
 *     busy-execs vfork	has children that wait, again and again, for a child of theirs that has their memory
 *     busy-execs again	is a child of the first kind
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 3

static int again(void)
{
	execl("/proc/self/exe", "busy-execs", "again", NULL);
	perror("busy-execs: exec");
	return 1;
}

static int wait_for_children(void)
{
	for (;;) {
		int status;
		pid_t pid = vfork();

		if (!pid)
			_exit(5);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 5) {
			perror("busy-execs: vfork");
			return 1;
		}
	}
}

int main(int argc, char **argv)
{
	bool by_vfork = argc > 1 && !strcmp(argv[1], "vfork");
	pid_t parent = getpid();

	if (argc > 1 && !strcmp(argv[1], "again"))
		return again();
	for (int i = 0; i < CHILDREN; i++) {
		switch (fork()) {
		case 0:
			/* exec() keeps it. */
			if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
				return 1;
			return by_vfork ? wait_for_children() : again();
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
