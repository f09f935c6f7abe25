// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals that come at any moment, also while a thread has not quite left a checkpoint or a restart, are taken inside
 * sigsuspend(2) or ppoll(2) only, and end it; the mask of before is there again after each.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>

static pthread_t worker;
static atomic_ulong signals, rounds, unblocked, outside;
static atomic_bool inside;

static void on_alarm(int sig)
{
	(void)sig;
	signals++;
	outside += !inside;
}

static void wait_for_one(const sigset_t *during)
{
	inside = true;
	if (crt_case)
		ppoll(NULL, 0, NULL, during);
	else
		sigsuspend(during);
	inside = false;
}

static void *work(void *arg)
{
	sigset_t alarm_only, during, after;

	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	pthread_sigmask(SIG_SETMASK, NULL, &during);
	sigdelset(&during, SIGALRM);
	while (!crt_go()) {
		wait_for_one(&during);
		pthread_sigmask(SIG_SETMASK, NULL, &after);
		if (!sigismember(&after, SIGALRM)) {
			unblocked++;
			pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
		}
		rounds++;
	}
	return arg;
}

static void setup(void)
{
	struct itimerval often = { .it_value.tv_usec = 300, .it_interval.tv_usec = 300 };
	struct sigaction action = { .sa_handler = on_alarm };
	sigset_t alarm_only;

	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	CRT_SYS(-pthread_sigmask(SIG_BLOCK, &alarm_only, NULL));
	CRT_SYS(sigaction(SIGALRM, &action, NULL));
	CRT_SYS(-pthread_create(&worker, NULL, work, NULL));
	CRT_SYS(setitimer(ITIMER_REAL, &often, NULL));
}

static void verify(void)
{
	pthread_join(worker, NULL);
	crt_ok(signals > 0 && rounds > 0, "signals came (%lu in %lu rounds)", (unsigned long)signals,
	       (unsigned long)rounds);
	crt_same((long long)rounds, (long long)signals, "each ended one wait");
	crt_same((long long)unblocked, 0, "blocked again after each");
	crt_same((long long)outside, 0, "none came outside");
}

const struct crt_test crt_test = {
	.text = "the mask of before comes back when a signal ends a wait",
	.setup = setup,
	.verify = verify,
	.cases = "ppoll",
};
