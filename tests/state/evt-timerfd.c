// SPDX-License-Identifier: GPL-2.0-only
/* timerfd: what was left, interval, expirations that were not read, flags; and dates, which stay dates. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define STRIKE_MS 5000
#define FAR_S 100000

static int strike, periodic, expired, overdue, unarmed, date, past_date, point;
static int64_t started;
static time_t date_at;

static int make(clockid_t clock, int flags, time_t sec, long nsec, time_t every)
{
	struct itimerspec spec = { .it_value = { sec, nsec }, .it_interval = { every, 0 } };
	int fd = (int)CRT_SYS(timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC));

	CRT_SYS(timerfd_settime(fd, flags, &spec, NULL));
	return fd;
}

static void setup(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	date_at = now.tv_sec + FAR_S;
	date = make(CLOCK_REALTIME, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, date_at, 0, 0);
	past_date = make(CLOCK_REALTIME, TFD_TIMER_ABSTIME, now.tv_sec + 4, 0, 0);
	clock_gettime(CLOCK_BOOTTIME, &now);
	point = make(CLOCK_BOOTTIME, TFD_TIMER_ABSTIME, now.tv_sec + FAR_S, 0, 0);
	unarmed = (int)CRT_SYS(timerfd_create(CLOCK_MONOTONIC, 0));
	expired = make(CLOCK_MONOTONIC, 0, 0, 1, 0);
	overdue = make(CLOCK_MONOTONIC, 0, 0, 1, 1000);
	crt_sleep_ms(2500);
	periodic = make(CLOCK_REALTIME, 0, FAR_S, 0, 7);
	started = crt_now_ns();
	strike = make(CLOCK_MONOTONIC, 0, STRIKE_MS / 1000, 0, 0);
}

static long long ticks(int fd)
{
	uint64_t n = 0;

	return read(fd, &n, sizeof(n)) == sizeof(n) ? (long long)n : -errno;
}

static long long left_s(int fd, struct itimerspec *spec)
{
	CRT_SYS(timerfd_gettime(fd, spec));
	return spec->it_value.tv_sec;
}

/* A line of fdinfo. */
static bool fdinfo_says(int fd, const char *line)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	crt_slurp(path, text, sizeof(text));
	return strstr(text, line);
}

static void verify_dates(void)
{
	struct pollfd poll_date = { .fd = past_date, .events = POLLIN };
	struct itimerspec spec;
	struct timespec now;
	long long left = left_s(date, &spec);

	clock_gettime(CLOCK_REALTIME, &now);
	crt_ok(left > date_at - now.tv_sec - 5 && left <= date_at - now.tv_sec,
	       "a date stays that date (%lld s left of %lld)", left, (long long)(date_at - now.tv_sec));
	crt_ok(fdinfo_says(date, "settime flags: 03"), "absolute, cancelled when the clock is set");
	poll(&poll_date, 1, 10000);
	crt_same(ticks(past_date), 1, "a date that has passed meanwhile has expired, once");
	crt_same(left_s(past_date, &spec), 0, "and is over");
	crt_ok(fdinfo_says(point, "clockid: 7") && fdinfo_says(point, "settime flags: 01"),
	       "a point in time since the boot: clock and flags");
	left = left_s(point, &spec);
	crt_ok(left > FAR_S - 60 && left <= FAR_S, "has what was left (%lld s)", left);
}

static void verify(void)
{
	struct pollfd poll_strike = { .fd = strike, .events = POLLIN };
	struct itimerspec spec;
	int64_t lived, left;

	crt_same(fcntl(unarmed, F_GETFL) & O_NONBLOCK, 0, "blocks");
	crt_same(fcntl(expired, F_GETFL) & O_NONBLOCK, O_NONBLOCK, "does not block");
	verify_dates();
	crt_same(left_s(unarmed, &spec), 0, "one that never ran does not run");
	crt_same(ticks(expired), 1, "an expiry that was not read");
	crt_same(ticks(expired), -EAGAIN, "is read once");
	left = left_s(overdue, &spec);
	crt_same(ticks(overdue), 1, "one that expired and goes on when read");
	crt_ok(left > 1000 - 100 && left <= 997, "goes on in its old rhythm (%lld s left)", (long long)left);
	crt_same(spec.it_interval.tv_sec, 1000, "and interval");
	left = left_s(periodic, &spec);
	crt_ok(left > FAR_S - 60 && left <= FAR_S, "time left (%lld s)", (long long)left);
	crt_same(spec.it_interval.tv_sec, 7, "interval");
	poll(&poll_strike, 1, 30000);
	lived = (crt_now_ns() - started - crt_gap_ns()) / 1000000;
	crt_same(ticks(strike), 1, "strikes");
	crt_ok(lived > STRIKE_MS - 1200, "not before %d ms of the process's own time (%lld)", STRIKE_MS,
	       (long long)lived);
}

const struct crt_test crt_test = {
	.text = "timerfd",
	.setup = setup,
	.verify = verify,
	.dead_ms = 3000,
};
