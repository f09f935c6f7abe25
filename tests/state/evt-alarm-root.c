// SPDX-License-Identifier: GPL-2.0-only
/* Timers that wake the machine: timerfd and timer_create on the clocks with alarm. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define FAR_S 100000
#define STRIKE_MS 5000

static int fd, soon, timer, waiting;
static int64_t started;
static time_t date_at;

static void setup(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	struct itimerspec spec = { .it_value = { FAR_S, 0 }, .it_interval = { 9, 0 } };
	struct itimerspec at_once = { .it_value = { 0, 1 } };
	struct timespec now;
	sigset_t mask;

	fd = timerfd_create(CLOCK_BOOTTIME_ALARM, TFD_NONBLOCK);
	if (fd < 0 || syscall(SYS_timer_create, CLOCK_REALTIME_ALARM, &event, &timer))
		crt_skip("no clock with alarm: %s", strerror(errno));
	CRT_SYS(timerfd_settime(fd, 0, &spec, NULL));
	clock_gettime(CLOCK_REALTIME, &now);
	date_at = now.tv_sec + FAR_S;
	spec.it_value.tv_sec = date_at;
	CRT_SYS(syscall(SYS_timer_settime, timer, TIMER_ABSTIME, &spec, NULL));
	sigemptyset(&mask);
	sigaddset(&mask, SIGRTMIN);
	CRT_SYS(sigprocmask(SIG_BLOCK, &mask, NULL));
	CRT_SYS(syscall(SYS_timer_create, CLOCK_BOOTTIME_ALARM, &event, &waiting));
	CRT_SYS(syscall(SYS_timer_settime, waiting, 0, &at_once, NULL));
	crt_sleep_ms(500);
	soon = (int)CRT_SYS(timerfd_create(CLOCK_REALTIME_ALARM, TFD_NONBLOCK));
	spec = (struct itimerspec){ .it_value = { STRIKE_MS / 1000, 0 } };
	started = crt_now_ns();
	CRT_SYS(timerfd_settime(soon, 0, &spec, NULL));
}

static void verify(void)
{
	struct pollfd poll_soon = { .fd = soon, .events = POLLIN };
	struct timespec now, none = { 0 };
	struct itimerspec spec;
	siginfo_t info;
	sigset_t mask;
	uint64_t ticks = 0;
	int64_t lived;

	CRT_SYS(timerfd_gettime(fd, &spec));
	crt_ok(spec.it_value.tv_sec > FAR_S - 100 && spec.it_value.tv_sec <= FAR_S, "timerfd: time left (%lld s)",
	       (long long)spec.it_value.tv_sec);
	crt_same(spec.it_interval.tv_sec, 9, "timerfd: interval");
	CRT_SYS(syscall(SYS_timer_gettime, timer, &spec));
	clock_gettime(CLOCK_REALTIME, &now);
	crt_ok(spec.it_value.tv_sec > date_at - now.tv_sec - 5 && spec.it_value.tv_sec <= date_at - now.tv_sec + 1,
	       "POSIX timer: a date stays that date (%lld s left)", (long long)spec.it_value.tv_sec);
	crt_same(spec.it_interval.tv_sec, 9, "POSIX timer: interval");
	sigemptyset(&mask);
	sigaddset(&mask, SIGRTMIN);
	crt_same(sigtimedwait(&mask, &info, &none), SIGRTMIN, "POSIX timer: a signal that waited");
	crt_same(info.si_timerid, waiting, "of that timer");
	crt_same(sigtimedwait(&mask, &info, &none), -1, "once");
	poll(&poll_soon, 1, 30000);
	lived = (crt_now_ns() - started - crt_gap_ns()) / 1000000;
	crt_same(read(soon, &ticks, sizeof(ticks)), sizeof(ticks), "timerfd: strikes");
	crt_ok(lived > STRIKE_MS - 1200, "not before %d ms of the process's own time (%lld)", STRIKE_MS,
	       (long long)lived);
}

const struct crt_test crt_test = {
	.text = "timers that wake the machine",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
	.dead_ms = 2000,
};
