// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tree in which there is always somebody in vfork(): the parent waits in the kernel until its child has ended.
 *
 *     busy-vforks	says "up"; ends by SIGTERM, with its children
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 3

static int again(void)
{
	for (;;) {
		int status;
		pid_t pid = vfork();

		if (!pid)
			_exit(5);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 5) {
			perror("busy-vforks: vfork");
			return 1;
		}
	}
}

int main(void)
{
	pid_t parent = getpid();

	for (int i = 0; i < CHILDREN; i++) {
		switch (fork()) {
		case 0:
			if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
				return 1;
			return again();
		case -1:
			perror("busy-vforks: fork");
			return 1;
		}
	}
	printf("up\n");
	fflush(stdout);
	for (;;)
		pause();
}
