// SPDX-License-Identifier: GPL-2.0-only
/*
 * client - what tool.sh checkpoints: says "up", and then the result of each checkpoint
 *
 *   client FLAGS [MILLISECONDS [leaves]]	cr_checkpoint(FLAGS), after a while; after a restart it closes all of its files
 *						then, as a daemon does, and libcr's with them, and does not come back
 *   client FLAGS MILLISECONDS vforks		likewise, but spends that while in vfork(2)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <libcr.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int flags, milliseconds;
static bool leaves, vforks;

static int answers(void *arg)
{
	struct timespec t = { milliseconds / 1000, milliseconds % 1000 * 1000000 };
	int result;

	(void)arg;
	if (!vforks) {
		nanosleep(&t, NULL);
	} else if (vfork() == 0) {
		nanosleep(&t, NULL);
		_exit(0);
	}
	result = cr_checkpoint(flags);
	printf("%d\n", result);
	fflush(stdout);
	if (result > 0 && leaves) {
		close_range(3, ~0U, 0);
		for (;;)
			pause();
	}
	return 0;
}

int main(int argc, char **argv)
{
	flags = argc > 1 ? (int)strtol(argv[1], NULL, 0) : 0;
	milliseconds = argc > 2 ? atoi(argv[2]) : 0;
	leaves = argc > 3 && !strcmp(argv[3], "leaves");
	vforks = argc > 3 && !strcmp(argv[3], "vforks");
	if (cr_init() < 0 || cr_register_callback(answers, NULL, CR_THREAD_CONTEXT) < 0) {
		fprintf(stderr, "client: %s\n", cr_strerror(errno));
		return 1;
	}
	printf("up\n");
	fflush(stdout);
	for (;;)
		pause();
}
