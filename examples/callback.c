// SPDX-License-Identifier: GPL-2.0-only
/*
 * callback - a counter that is told of its checkpoints
 *
 *   gcc -o callback callback.c -lcr
 *   ./callback & cr_checkpoint --kill $!; cr_restart context.$!
 */
#include <libcr.h>
#include <stdio.h>
#include <unistd.h>

static int checkpoints, restarts;

static int around(void *arg)
{
	int result;

	(void)arg;
	printf("a checkpoint is going to be made\n");
	fflush(stdout);
	result = cr_checkpoint(CR_CHECKPOINT_READY);
	if (result > 0)
		printf("restart number %d, by process %d\n", ++restarts, result);
	else if (result == 0)
		printf("checkpoint number %d\n", ++checkpoints);
	else
		printf("no checkpoint: %s\n", cr_strerror(-result));
	fflush(stdout);
	return 0;
}

int main(void)
{
	int i;

	if (cr_init() < 0 || cr_register_callback(around, NULL, CR_THREAD_CONTEXT) < 0) {
		fprintf(stderr, "callback: %s\n", cr_strerror(errno));
		return 1;
	}
	for (i = 0;; i++) {
		printf("%d\n", i);
		fflush(stdout);
		sleep(1);
	}
}
