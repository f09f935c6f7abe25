// SPDX-License-Identifier: GPL-2.0-only
/* A process whose main thread has ended: it is saved and restarted, or refused by name; never harmed. */
#define _GNU_SOURCE
#include "crtest.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *rest(void *arg)
{
	(void)arg;
	crt_sleep_ms(100);				/* the main thread is a zombie by now */
	crt_wait_go();
	crt_ok(crt_stat_field(getpid(), 20) == 2, "a zombie leader and this thread");
	crt_ok(true, "the other thread runs on");
	printf("1..2\n");
	fflush(stdout);
	_exit(0);
}

static void setup(void)
{
	crt_expect("pid %d|main thread", getpid());
}

static void wait(void)
{
	pthread_t id;

	CRT_SYS(-pthread_create(&id, NULL, rest, NULL));
	pthread_exit(NULL);
}

static void verify(void)
{
}

const struct crt_test crt_test = {
	.text = "a process whose main thread has ended is refused by name and runs on",
	.setup = setup,
	.wait = wait,
	.verify = verify,
	.flags = CRT_REFUSE,
	.settle_ms = 300,
};
