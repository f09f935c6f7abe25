// SPDX-License-Identifier: GPL-2.0-only
/*
 * periodic - a program that checkpoints itself every few seconds
 *
 *   gcc -o periodic periodic.c -lcr
 *   ./periodic 10; cr_restart periodic.context
 */
#include <fcntl.h>
#include <libcr.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A new file each time, which gets the name when it is complete. 1: checkpoint made, 0: restarted, -1: failed. */
static int checkpoint(const char *name)
{
	cr_checkpoint_handle_t handle;
	cr_checkpoint_args_t args;
	int result;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_fd = open("periodic.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (args.cr_fd < 0)
		return -1;
	result = cr_request_checkpoint(&args, &handle);
	if (result == 0) {
		do
			result = cr_poll_checkpoint(&handle, NULL);
		while (result == CR_POLL_CHKPT_ERR_PRE && errno == EINTR);
	}
	if (result < 0 && errno == CR_ERESTARTED)
		result = 0;
	else if (result < 0)
		fprintf(stderr, "periodic: %s\n", cr_strerror(errno));
	close(args.cr_fd);
	if (result == 1)
		rename("periodic.new", name);
	return result;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 10;
	int i;

	for (i = 1;; i++) {
		printf("%d\n", i);
		fflush(stdout);
		sleep(1);
		if (seconds > 0 && i % seconds == 0)
			printf("%s\n", checkpoint("periodic.context") ? "checkpoint" : "restarted");
	}
}
