// SPDX-License-Identifier: GPL-2.0-only
/*
 * clocks - threads that are nearly always inside the kernel's code in their address space (vdso)
 *
 * usage: clocks FILE
 *
 * Runs until FILE exists and two seconds more, then says in TAP whether each clock made sense at each look: its time
 * is one between the look before and what the kernel says now, be that after a restart on another kernel.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND	1000000000LL
#define SLACK	(SECOND / 20)	/* two threads differ by less */
#define TICK	SECOND		/* a coarse clock is late by a tick, and that by as much as a busy host keeps it */

struct look {
	const char *name;
	clockid_t clock;	/* with which it is compared */
	int64_t (*now)(clockid_t clock);
	long late;		/* ns, at most */
	atomic_llong looks, wrong;
	int64_t worst_before, worst, worst_after;
};

static atomic_int stop;

static int64_t ns(const struct timespec *ts)
{
	return ts->tv_nsec < 0 || ts->tv_nsec >= SECOND ? -1 : ts->tv_sec * SECOND + ts->tv_nsec;
}

static int64_t by_clock(clockid_t clock)
{
	struct timespec ts = { -1, -1 };

	return clock_gettime(clock, &ts) ? -1 : ns(&ts);
}

static int64_t by_timeofday(clockid_t clock)
{
	struct timeval tv = { -1, -1 };

	(void)clock;
	return gettimeofday(&tv, NULL) ? -1 : tv.tv_sec * SECOND + tv.tv_usec * 1000;
}

static int64_t by_time(clockid_t clock)
{
	(void)clock;
	return time(NULL) * SECOND;
}

static int64_t by_kernel(clockid_t clock)
{
	struct timespec ts;

	return syscall(SYS_clock_gettime, clock, &ts) ? -1 : ns(&ts);
}

static struct look looks[] = {
	{ .name = "CLOCK_REALTIME", .clock = CLOCK_REALTIME, .now = by_clock },
	{ .name = "CLOCK_MONOTONIC", .clock = CLOCK_MONOTONIC, .now = by_clock },
	{ .name = "CLOCK_MONOTONIC_RAW", .clock = CLOCK_MONOTONIC_RAW, .now = by_clock },
	{ .name = "CLOCK_BOOTTIME", .clock = CLOCK_BOOTTIME, .now = by_clock },
	{ .name = "CLOCK_REALTIME_COARSE", .clock = CLOCK_REALTIME_COARSE, .now = by_clock, .late = TICK },
	{ .name = "CLOCK_MONOTONIC_COARSE", .clock = CLOCK_MONOTONIC_COARSE, .now = by_clock,
	  .late = TICK },
	{ .name = "gettimeofday", .clock = CLOCK_REALTIME, .now = by_timeofday, .late = 1000 },
	{ .name = "time", .clock = CLOCK_REALTIME, .now = by_time, .late = SECOND + TICK },
};

#define COUNT	(sizeof(looks) / sizeof(looks[0]))

/*
 * A clock may have begun anew, at another kernel: then before > after. What was looked at in between is one of the
 * two: as it was before, or as it is after.
 */
static int makes_sense(const struct look *l, int64_t before, int64_t now, int64_t after)
{
	int64_t low = before - l->late - SLACK;

	if (now < 0)
		return 0;
	if (before <= after)
		return now >= low && now <= after + SLACK;
	return (now >= low && now <= before + SLACK) || now <= after + SLACK;
}

static void *look_at(void *arg)
{
	struct look *l = arg;

	while (!atomic_load(&stop)) {
		int64_t before = by_kernel(l->clock), last = 0, now = 0, after;

		/* Many of these for one of the kernel's, to be in there when the checkpoint comes. */
		for (int i = 0; i < 200 && now >= last; i++) {
			last = now;
			now = l->now(l->clock);
		}
		after = by_kernel(l->clock);
		atomic_fetch_add(&l->looks, 1);
		if (makes_sense(l, before, now, after) && (now >= last || before > after))
			continue;
		if (!atomic_fetch_add(&l->wrong, 1)) {
			l->worst_before = before;
			l->worst = now;
			l->worst_after = after;
		}
	}
	return NULL;
}

static void *ask_cpu(void *arg)
{
	atomic_llong *wrong = arg;

	while (!atomic_load(&stop)) {
		struct timespec resolution = { -1, -1 };
		unsigned int cpu = ~0U;

		if (getcpu(&cpu, NULL) || cpu >= 4096)
			atomic_fetch_add(wrong, 1);
		if (clock_getres(CLOCK_REALTIME, &resolution) || resolution.tv_sec ||
		    resolution.tv_nsec < 1)
			atomic_fetch_add(wrong, 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[COUNT + 1];
	atomic_llong wrong = 0;
	size_t i;

	if (argc != 2)
		return 2;
	for (i = 0; i < COUNT; i++)
		if (pthread_create(&threads[i], NULL, look_at, &looks[i]))
			return 1;
	if (pthread_create(&threads[COUNT], NULL, ask_cpu, &wrong))
		return 1;
	while (access(argv[1], F_OK))
		usleep(100000);
	sleep(2);
	atomic_store(&stop, 1);
	for (i = 0; i <= COUNT; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < COUNT; i++) {
		struct look *l = &looks[i];

		if (l->wrong)
			printf("# %lld of %lld looks, the first: %lld between %lld and %lld\n", (long long)l->wrong,
			       (long long)l->looks, (long long)l->worst, (long long)l->worst_before,
			       (long long)l->worst_after);
		printf("%s - %s\n", l->wrong || !l->looks ? "not ok" : "ok", l->name);
	}
	printf("%s - getcpu, clock_getres\n", wrong ? "not ok" : "ok");
	return 0;
}
