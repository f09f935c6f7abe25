// SPDX-License-Identifier: GPL-2.0-only
/*
 * relaunch - a program that restarts another one from its last context, whenever it has crashed
 *
 *   gcc -o relaunch relaunch.c
 *   ./relaunch periodic.context ./periodic 5
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs it, and returns its wait status. cr_restart ends as what it has restarted does. */
static int run(char **command)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status;
}

int main(int argc, char **argv)
{
	char *restart[] = { "cr_restart", argc > 1 ? argv[1] : NULL, NULL };
	int status;

	if (argc < 3) {
		fprintf(stderr, "usage: relaunch CONTEXT PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	for (status = run(argv + 2); WIFSIGNALED(status) && access(argv[1], R_OK) == 0; status = run(restart))
		printf("it died of signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
