// SPDX-License-Identifier: GPL-2.0-only
/*
 * reseed - random numbers that are other ones after each restart from the same context
 *
 *   gcc -o reseed reseed.c -lcr
 *   ./reseed & cr_checkpoint --kill $!; cr_restart context.$!
 *
 * A callback in signal context runs in the thread that has registered it, before that goes on: no number is drawn
 * from the state that came with the context.
 */
#include <errno.h>
#include <libcr.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

static void seed(void)
{
	unsigned int number;

	if (getrandom(&number, sizeof(number), 0) == sizeof(number))
		srandom(number);
}

static int around(void *arg)
{
	(void)arg;
	if (cr_checkpoint(CR_CHECKPOINT_READY) > 0)
		seed();
	return 0;
}

int main(void)
{
	seed();
	if (cr_init() < 0 || cr_register_callback(around, NULL, CR_SIGNAL_CONTEXT) < 0) {
		fprintf(stderr, "reseed: %s\n", cr_strerror(errno));
		return 1;
	}
	for (;;) {
		printf("%ld\n", random());
		fflush(stdout);
		sleep(1);
	}
}
