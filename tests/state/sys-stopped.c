// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of a stopped process: a handler that SIGCONT runs ends them, and a sleep knows what was left of it, not of the whole time.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLEEP_S 1000
#define BEFORE_MS 1500

static pthread_t thread;
static struct timespec left = { .tv_sec = SLEEP_S };
static int error;
static atomic_bool ended;

static void on_cont(int sig)
{
	(void)sig;
}

static void *work(void *arg)
{
	sigset_t cont;
	int rc;

	sigemptyset(&cont);
	sigaddset(&cont, SIGCONT);
	pthread_sigmask(SIG_UNBLOCK, &cont, NULL);
	rc = crt_case ? ppoll(NULL, 0, NULL, NULL) : nanosleep(&left, &left);
	error = rc ? errno : 0;
	ended = true;
	return arg;
}

static void setup(void)
{
	struct sigaction action = { .sa_handler = on_cont, .sa_flags = SA_RESTART };
	sigset_t cont;

	sigemptyset(&cont);
	sigaddset(&cont, SIGCONT);
	CRT_SYS(-pthread_sigmask(SIG_BLOCK, &cont, NULL));
	CRT_SYS(sigaction(SIGCONT, &action, NULL));
	CRT_SYS(-pthread_create(&thread, NULL, work, NULL));
	crt_sleep_ms(BEFORE_MS);
}

static void verify(void)
{
	for (int i = 0; i < 1000 && !ended; i++)
		crt_sleep_ms(10);
	if (!crt_ok(ended, "the call has ended"))
		return;
	pthread_join(thread, NULL);
	crt_same(error, EINTR, "... with EINTR");
	if (!crt_case)
		crt_ok(left.tv_sec < SLEEP_S - BEFORE_MS / 1000, "... and what is left is less than before (%ld s)",
		       (long)left.tv_sec);
}

const struct crt_test crt_test = {
	.text = "SIGCONT's handler ends the call of a stopped process",
	.setup = setup,
	.verify = verify,
	.flags = CRT_STOPPED,
	.cases = "pause",
};
