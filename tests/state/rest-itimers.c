// SPDX-License-Identifier: GPL-2.0-only
/* Interval timers: each goes on with the time it had left, and with its interval. */
#define _GNU_SOURCE
#include "crtest.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#define REAL_MS 6000
#define FAR_S 100000

static atomic_int alarms, virtuals;
static atomic_llong first_at;
static int64_t started;

static void on_alarm(int sig)
{
	(void)sig;
	if (!alarms++)
		first_at = crt_now_ns();
}

static void on_virtual(int sig)
{
	(void)sig;
	virtuals++;
}

/*
 * Use processor time in user mode. Where the clock of the machine cannot be read in user mode, a
 * loop that only reads it spends its time in the kernel, which ITIMER_VIRTUAL does not count.
 */
static void compute(void)
{
	for (volatile int i = 0; i < 2000000; i++)
		;
}

/* The timer has three times, or long enough has passed. */
static void until_struck(void)
{
	for (int i = 0; i < 200 && alarms < 3; i++)
		crt_sleep_ms(50);
}

static void wait(void)
{
	crt_wait_go();
	if (!crt_case)
		until_struck();
}

static void set_blocked(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	CRT_SYS(-pthread_sigmask(how, &set, NULL));
}

/* It has struck, and does not go on before its signal is taken. */
static void setup_pending(void)
{
	struct itimerval often = { .it_value = { 0, 20000 }, .it_interval = { 0, 20000 } };

	set_blocked(SIG_BLOCK);
	CRT_SYS(setitimer(ITIMER_REAL, &often, NULL));
	crt_sleep_ms(60);
}

static void verify_pending(void)
{
	struct itimerval now;

	set_blocked(SIG_UNBLOCK);
	until_struck();
	crt_ok(alarms >= 3, "pending: taken, it goes on (%d times)", alarms);
	getitimer(ITIMER_REAL, &now);
	crt_same(now.it_interval.tv_usec, 20000, "pending: interval");
}

static void setup(void)
{
	struct itimerval real = { .it_value = { REAL_MS / 1000, 0 }, .it_interval = { 0, 500000 } };
	struct itimerval virt = { .it_value = { 0, 200000 }, .it_interval = { 0, 200000 } };
	struct itimerval prof = { .it_value = { FAR_S, 0 }, .it_interval = { 7, 250000 } };
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &act, NULL);
	act.sa_handler = on_virtual;
	sigaction(SIGVTALRM, &act, NULL);
	if (crt_case) {
		setup_pending();
		return;
	}
	started = crt_now_ns();
	CRT_SYS(setitimer(ITIMER_REAL, &real, NULL));
	CRT_SYS(setitimer(ITIMER_VIRTUAL, &virt, NULL));
	CRT_SYS(setitimer(ITIMER_PROF, &prof, NULL));
}

static void verify(void)
{
	struct itimerval now;
	int64_t lived = (first_at - started - crt_gap_ns()) / 1000000;
	int before = virtuals;
	int64_t until;

	if (crt_case) {
		verify_pending();
		return;
	}
	crt_ok(alarms >= 3, "ITIMER_REAL struck, and goes on by its interval (%d times)", alarms);
	crt_ok(lived > REAL_MS - 1200 && lived < REAL_MS + 1200 + crt_pause_ns() / 1000000,
	       "first after %d ms of the process's own time (was %lld)", REAL_MS, (long long)lived);
	getitimer(ITIMER_REAL, &now);
	crt_ok(now.it_interval.tv_sec == 0 && now.it_interval.tv_usec == 500000, "ITIMER_REAL: interval");
	until = crt_now_ns() + 30000000000LL;
	while (virtuals == before && crt_now_ns() < until)
		compute();
	crt_ok(virtuals > before, "ITIMER_VIRTUAL strikes");
	getitimer(ITIMER_VIRTUAL, &now);
	crt_ok(now.it_interval.tv_sec == 0 && now.it_interval.tv_usec == 200000, "ITIMER_VIRTUAL: interval");
	getitimer(ITIMER_PROF, &now);
	crt_ok(now.it_value.tv_sec > FAR_S - 60 && now.it_value.tv_sec <= FAR_S, "ITIMER_PROF: time left");
	crt_ok(now.it_interval.tv_sec == 7 && now.it_interval.tv_usec == 250000, "ITIMER_PROF: interval");
}

const struct crt_test crt_test = {
	.text = "interval timers",
	.setup = setup,
	.wait = wait,
	.verify = verify,
	.cases = "pending",
	.settle_ms = 2000,
	.dead_ms = 3000,
};
