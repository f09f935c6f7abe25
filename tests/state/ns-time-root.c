// SPDX-License-Identifier: GPL-2.0-only
/* CLOCK_MONOTONIC of a time namespace of its own; with OPTION, that of cr_restart --time-ns. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

#define DEAD_MS	5000

#ifndef OPTION
#define OPTION	""
#endif

static int timer;
static struct timespec due;

static int64_t seconds(clockid_t clock)
{
	struct timespec now;

	CRT_SYS(clock_gettime(clock, &now));
	return now.tv_sec;
}

static int64_t longest_ms;		/* between two looks at the clock */

/*
 * Asks the kernel itself: a thread that was stopped inside the vdso, between reading the machine's clock and adding
 * its namespace's offset, is once told of a time before.
 */
static int64_t kernel_ms(void)
{
	struct timespec now;

	CRT_SYS(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now));
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static unsigned int waits, early;	/* of one after the other, until a time; ended before that */

/* As condition variables and most languages' waits with a timeout do it. */
static void *wait_until_times(void *arg)
{
	const struct timespec *past;
	struct timespec until;
	unsigned int word = 0;

	(void)arg;
	for (;;) {
		int64_t ms = kernel_ms() + 1500;

		until = (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
		past = &until;
		while (!syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, past, NULL, FUTEX_BITSET_MATCH_ANY) || errno != ETIMEDOUT)
			continue;
		if (kernel_ms() < ms - 1)
			__atomic_fetch_add(&early, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&waits, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void wait_go(void)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	int64_t last = kernel_ms(), now;

	while (access(crt_path("go"), F_OK)) {
		nanosleep(&pause, NULL);
		now = kernel_ms();
		if (now - last > longest_ms)
			longest_ms = now - last;
		last = now;
	}
}

static void setup(void)
{
	const char offsets[] = "monotonic 1000000 0\nboottime 2000000 0\n";
	struct itimerspec at = {};
	pthread_t thread;
	int fd;

	if (access("/proc/self/ns/time", F_OK))
		crt_skip("no time namespaces");
	if (!*OPTION) {
		CRT_SYS(unshare(CLONE_NEWTIME));
		fd = (int)CRT_SYS(open("/proc/self/timens_offsets", O_WRONLY));
		CRT_SYS(write(fd, offsets, strlen(offsets)));
		close(fd);
		fd = (int)CRT_SYS(open("/proc/self/ns/time_for_children", O_RDONLY));
		CRT_SYS(setns(fd, CLONE_NEWTIME));
		close(fd);
	}
	timer = (int)CRT_SYS(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	CRT_SYS(clock_gettime(CLOCK_MONOTONIC, &due));
	due.tv_sec += 1000;
	at.it_value = due;
	CRT_SYS(timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL));
	if (pthread_create(&thread, NULL, wait_until_times, NULL))
		crt_die("no thread");
}

static void verify(void)
{
	struct itimerspec left;
	struct timespec now;
	const unsigned int before = __atomic_load_n(&waits, __ATOMIC_RELAXED);
	int64_t ms;

	for (int i = 0; i < 100 && __atomic_load_n(&waits, __ATOMIC_RELAXED) < before + 2; i++)
		crt_sleep_ms(100);
	crt_ok(__atomic_load_n(&waits, __ATOMIC_RELAXED) >= before + 2, "a thread that waits until a time goes on");
	crt_same(__atomic_load_n(&early, __ATOMIC_RELAXED), 0, "... and no wait has ended before");

	crt_ok(longest_ms < DEAD_MS - 1000, "CLOCK_MONOTONIC did not go on while the process did not exist (%lld ms)",
	       (long long)longest_ms);
	if (!*OPTION) {
		crt_ok(seconds(CLOCK_MONOTONIC) > 1000000, "CLOCK_MONOTONIC has its offset");
		crt_ok(seconds(CLOCK_BOOTTIME) > 2000000, "CLOCK_BOOTTIME has its offset");
	}
	CRT_SYS(timerfd_gettime(timer, &left));
	CRT_SYS(clock_gettime(CLOCK_MONOTONIC, &now));
	ms = (due.tv_sec - now.tv_sec - left.it_value.tv_sec) * 1000 +
	     (due.tv_nsec - now.tv_nsec - left.it_value.tv_nsec) / 1000000;
	crt_ok(ms > -2000 && ms < 2000, "a timer is due at the same time of that clock (%lld ms)", (long long)ms);
}

const struct crt_test crt_test = {
	.text = "the clock of a time namespace",
	.setup = setup,
	.wait = wait_go,
	.verify = verify,
	.flags = CRT_ROOT | CRT_ONCE,
	.restart_args = OPTION,
	.dead_ms = DEAD_MS,
};
