// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads in system calls with a timeout: no call returns early or with EINTR, and what was left
 * of the timeout at the checkpoint is waited for after the restart.  Absolute deadlines are
 * kept as they are.  With a case, the one call of that name alone.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TOTAL_MS 7000			/* checkpoint at 2.5 s, dead for 4 s */
#define TOLERANCE_MS 1500
#define ABSOLUTE_MS 11000

static int quiet[2];			/* a pipe that nobody writes to */

static struct timespec total(void)
{
	return (struct timespec){ TOTAL_MS / 1000, TOTAL_MS % 1000 * 1000000L };
}

static struct timespec deadline(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	ts.tv_sec += ABSOLUTE_MS / 1000;
	return ts;
}

/* Each returns 0 when the call ended as it should at the end of its time, else an errno or -1. */

static int result(long rc, long expected, int expected_errno)
{
	if (rc == expected && (rc != -1 || errno == expected_errno))
		return 0;
	return rc == -1 ? errno : -1;
}

static int do_nanosleep(void)
{
	struct timespec ts = total();

	return result(nanosleep(&ts, &ts), 0, 0);
}

static int do_clock_nanosleep(void)
{
	struct timespec ts = total();

	return clock_nanosleep(CLOCK_BOOTTIME, 0, &ts, &ts);
}

static int do_clock_nanosleep_abs(void)
{
	struct timespec ts = deadline(CLOCK_MONOTONIC);

	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static int do_clock_nanosleep_realtime(void)
{
	struct timespec ts = deadline(CLOCK_REALTIME);

	return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL);
}

static int do_futex(void)
{
	struct timespec ts = total();
	uint32_t word = 5;

	return result(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 5, &ts, NULL, 0), -1, ETIMEDOUT);
}

static int do_futex_abs(void)
{
	struct timespec ts = deadline(CLOCK_MONOTONIC);
	uint32_t word = 5;

	return result(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 5, &ts, NULL, ~0U), -1, ETIMEDOUT);
}

static int do_sem(void)
{
	struct timespec ts = deadline(CLOCK_REALTIME);
	sem_t sem;

	sem_init(&sem, 0, 0);
	return result(sem_timedwait(&sem, &ts), -1, ETIMEDOUT);
}

static int do_poll(void)
{
	struct pollfd p = { .fd = quiet[0], .events = POLLIN };

	return result(poll(&p, 1, TOTAL_MS), 0, 0);
}

static int do_ppoll(void)
{
	struct pollfd p = { .fd = quiet[0], .events = POLLIN };
	struct timespec ts = total();

	return result(ppoll(&p, 1, &ts, NULL), 0, 0);
}

static int do_select(void)
{
	struct timeval tv = { TOTAL_MS / 1000, 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(quiet[0], &set);
	return result(select(quiet[0] + 1, &set, NULL, NULL, &tv), 0, 0);
}

static int do_pselect(void)
{
	struct timespec ts = total();
	sigset_t none;

	sigemptyset(&none);
	return result(pselect(0, NULL, NULL, NULL, &ts, &none), 0, 0);
}

static int do_epoll_wait(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(0), rc;

	epoll_ctl(fd, EPOLL_CTL_ADD, quiet[0], &event);
	rc = result(epoll_wait(fd, &event, 1, TOTAL_MS), 0, 0);
	close(fd);
	return rc;
}

static int do_sigtimedwait(void)
{
	struct timespec ts = total();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return result(sigtimedwait(&set, NULL, &ts), -1, EAGAIN);
}

static int do_accept(void)
{
	struct timeval tv = { TOTAL_MS / 1000, 0 };
	int fd = socket(AF_INET, SOCK_STREAM, 0), rc;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	if (listen(fd, 1))
		return errno;
	rc = result(accept(fd, NULL, NULL), -1, EAGAIN);
	close(fd);
	return rc;
}

static struct call {
	const char *name;
	int (*run)(void);
	bool absolute;
	bool selected;
	pthread_t thread;
	int rc;
	int64_t start_ns, end_ns;
} calls[] = {
	{ .name = "nanosleep", .run = do_nanosleep },
	{ .name = "clock_nanosleep", .run = do_clock_nanosleep },
	{ .name = "clock_nanosleep-absolute", .run = do_clock_nanosleep_abs, .absolute = true },
	{ .name = "clock_nanosleep-realtime", .run = do_clock_nanosleep_realtime, .absolute = true },
	{ .name = "futex", .run = do_futex },
	{ .name = "futex-absolute", .run = do_futex_abs, .absolute = true },
	{ .name = "sem_timedwait", .run = do_sem, .absolute = true },
	{ .name = "poll", .run = do_poll },
	{ .name = "ppoll", .run = do_ppoll },
	{ .name = "select", .run = do_select },
	{ .name = "pselect", .run = do_pselect },
	{ .name = "epoll_wait", .run = do_epoll_wait },
	{ .name = "sigtimedwait", .run = do_sigtimedwait },
	{ .name = "accept", .run = do_accept },
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static void *thread_main(void *arg)
{
	struct call *c = arg;

	c->start_ns = crt_now_ns();
	c->rc = c->run();
	c->end_ns = crt_now_ns();
	return NULL;
}

static void setup(void)
{
	int started = 0;

	CRT_SYS(pipe(quiet));
	for (size_t i = 0; i < CALLS; i++) {
		struct call *c = &calls[i];

		/* unless named, accept() is left out: its timeout belongs to the socket, not to the call */
		c->selected = crt_case ? !strcmp(crt_case, c->name) : strcmp(c->name, "accept") != 0;
		if (!c->selected)
			continue;
		CRT_SYS(-pthread_create(&c->thread, NULL, thread_main, c));
		started++;
	}
	if (!started)
		crt_die("no call %s", crt_case);
}

static void verify(void)
{
	for (size_t i = 0; i < CALLS; i++) {
		int64_t lived, wall, late, tolerance = TOLERANCE_MS + crt_pause_ns() / 1000000;
		struct call *c = &calls[i];

		if (!c->selected)
			continue;
		pthread_join(c->thread, NULL);
		wall = (c->end_ns - c->start_ns) / 1000000;
		lived = wall - crt_gap_ns() / 1000000;
		crt_ok(!c->rc, "%s: ends by its timeout%s%s", c->name, c->rc ? ", but: " : "",
		       c->rc ? strerror(c->rc < 0 ? 0 : c->rc) : "");
		/* a deadline that passed while there was no process ends the call at once */
		late = (crt_gap_end_ns() - c->start_ns) / 1000000;
		if (c->absolute)
			crt_ok(wall >= ABSOLUTE_MS - 1100 &&
			       wall < (late > ABSOLUTE_MS ? late : ABSOLUTE_MS) + tolerance,
			       "%s: at its deadline (%d ms; was %lld)", c->name, ABSOLUTE_MS, (long long)wall);
		else
			crt_ok(lived >= TOTAL_MS - TOLERANCE_MS && lived < TOTAL_MS + tolerance,
			       "%s: after %d ms of its own time (was %lld)", c->name, TOTAL_MS, (long long)lived);
	}
	crt_diag("the process did not exist for %lld ms, and stood still for %lld ms",
		 (long long)crt_gap_ns() / 1000000, (long long)crt_pause_ns() / 1000000);
}

const struct crt_test crt_test = {
	.text = "timed system calls keep what is left of their time",
	.setup = setup,
	.verify = verify,
	.settle_ms = 2500,
	.dead_ms = 4000,
	.timeout_s = 90,
};
