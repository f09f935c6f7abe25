// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers that call a function in a thread (SIGEV_THREAD), for which the C library has a signal of its own, expire all the time:
 * also while the process is being restarted.
 */
#include "crtest.h"
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define TIMERS 3

/* A slow machine does little else than run this many. */
static const long interval_us[TIMERS] = { 2000, 20000, 100000 };

static atomic_int ticks[TIMERS];

static void tick(union sigval value)
{
	atomic_fetch_add(&ticks[value.sival_int], 1);
}

static void setup(void)
{
	for (int i = 0; i < TIMERS; i++) {
		struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = i };
		struct itimerspec often = { { 0, interval_us[i] * 1000 }, { 0, interval_us[i] * 1000 } };
		timer_t id;

		event.sigev_notify_function = tick;
		CRT_SYS(timer_create(CLOCK_MONOTONIC, &event, &id));
		CRT_SYS(timer_settime(id, 0, &often, NULL));
	}
	while (!ticks[TIMERS - 1])
		usleep(1000);
}

static void verify(void)
{
	for (int i = 0; i < TIMERS; i++) {
		const int before = ticks[i];
		int patience = 1000;

		while (ticks[i] == before && patience--)
			usleep(10000);
		crt_ok(ticks[i] != before, "the timer of %ld us goes on", interval_us[i]);
	}
}

const struct crt_test crt_test = {
	.text = "timers with SIGEV_THREAD that expire during the restart",
	.setup = setup,
	.verify = verify,
};
