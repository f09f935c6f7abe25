// SPDX-License-Identifier: GPL-2.0-only
/*
 * CRYO_RST_TIMER in a process that has very many POSIX timers: each is found, the oldest and the newest, and one that is not there is
 * not, also while another thread makes and deletes timers.
 */
#include "restarting.h"

#include <sys/resource.h>

#define TIMERS	20000

static int handle;
static timer_t timers[TIMERS];
static volatile bool over;

static timer_t make_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	timer_t id;

	if (timer_create(CLOCK_MONOTONIC, &event, &id))
		die("timer_create");
	return id;
}

/* The C library's ids of such timers are the kernel's. */
static int set_counts(int id, int64_t last)
{
	struct cryo_timer_state args = { .size = sizeof(args), .what = CRYO_TIMER_COUNTS, .id = id, .overrun = -1,
					 .overrun_last = last };

	return ioctl(handle, CRYO_RST_TIMER, &args) ? errno : 0;
}

static int id_of(unsigned int i)
{
	return (int)(intptr_t)timers[i];
}

static void each_is_found(void)
{
	static const unsigned int which[] = { 0, 1, TIMERS / 2, TIMERS - 257, TIMERS - 256, TIMERS - 255, TIMERS - 1 };
	unsigned int found = 0, n = sizeof(which) / sizeof(which[0]);

	for (unsigned int i = 0; i < n; i++)
		found += !set_counts(id_of(which[i]), 100 + i) && timer_getoverrun(timers[which[i]]) == (int)(100 + i);
	ok(found == n, "of %u timers, %u of %u are found and set", TIMERS, found, n);
	is_error(set_counts(id_of(TIMERS - 1) + 1, 0), ENOENT, "one that is not there");
}

static void *come_and_go(void *arg)
{
	unsigned int seed = 33;

	while (!over) {
		unsigned int i = 1 + (unsigned int)rand_r(&seed) % (TIMERS - 1);

		timer_delete(timers[i]);
		timers[i] = make_timer();
	}
	return arg;
}

/* The oldest one stays. */
static void while_others_go(void)
{
	unsigned int found = 0, again = 0, other = 0;
	struct timespec begin, now;
	pthread_t thread;

	pthread_create(&thread, NULL, come_and_go, NULL);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		int err = set_counts(id_of(0), 7);

		found += !err;
		again += err == EAGAIN;
		other += err && err != EAGAIN;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < 5);
	over = true;
	pthread_join(thread, NULL);
	ok(found && !other, "while others are deleted it is found (%u times), or is to be looked for again (%u)", found, again);
	if (other)
		printf("# %u other errors\n", other);
}

int main(void)
{
	struct rlimit limit = { 2 * TIMERS, 2 * TIMERS };

	if (geteuid()) {
		puts("1..0 # SKIP needs root to have so many timers");
		return 0;
	}
	if (setrlimit(RLIMIT_SIGPENDING, &limit))
		die("RLIMIT_SIGPENDING");
	handle = make_handle(1, 1);
	for (unsigned int i = 0; i < TIMERS; i++)
		timers[i] = make_timer();
	each_is_found();
	while_others_go();
	return finish();
}
