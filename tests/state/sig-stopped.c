// SPDX-License-Identifier: GPL-2.0-only
/* A process stopped by SIGSTOP stays stopped, and goes on by SIGCONT. */
#define _GNU_SOURCE
#include "crtest.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static volatile sig_atomic_t continued;
static atomic_ulong ticks;
static pthread_t thread;

static void on_cont(int sig)
{
	(void)sig;
	continued++;
}

static void *tick(void *arg)
{
	(void)arg;
	/* At least once: the process may be stopped before this thread has run at all. */
	do
		ticks++;
	while (!crt_go());
	return NULL;
}

static void setup(void)
{
	signal(SIGCONT, on_cont);
	CRT_SYS(-pthread_create(&thread, NULL, tick, NULL));
}

static void verify(void)
{
	pthread_join(thread, NULL);
	crt_ok(continued >= 1, "SIGCONT came");
	crt_ok(ticks > 0, "the other thread ran");
}

const struct crt_test crt_test = {
	.text = "a stopped process stays stopped until SIGCONT",
	.setup = setup,
	.verify = verify,
	.flags = CRT_STOPPED,
};
