// SPDX-License-Identifier: GPL-2.0-only
/*
 * client - what tool.sh checkpoints: says "up", and then the result of each checkpoint
 *
 *   client FLAGS [MILLISECONDS]	cr_checkpoint(FLAGS), after a while
 */
#include <errno.h>
#include <libcr.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int flags, milliseconds;

static int answers(void *arg)
{
	struct timespec t = { milliseconds / 1000, milliseconds % 1000 * 1000000 };

	(void)arg;
	nanosleep(&t, NULL);
	printf("%d\n", cr_checkpoint(flags));
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	flags = argc > 1 ? (int)strtol(argv[1], NULL, 0) : 0;
	milliseconds = argc > 2 ? atoi(argv[2]) : 0;
	if (cr_init() < 0 || cr_register_callback(answers, NULL, CR_THREAD_CONTEXT) < 0) {
		fprintf(stderr, "client: %s\n", cr_strerror(errno));
		return 1;
	}
	printf("up\n");
	fflush(stdout);
	for (;;)
		pause();
}
