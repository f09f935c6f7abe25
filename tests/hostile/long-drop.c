// SPDX-License-Identifier: GPL-2.0-only
/*
 * long-drop - a program that drops mapped memory of which very many pages are named
 *
 * 2^29 pages, all of them in one chunk of one file.  What that takes is to be little more than a program needs to set it up,
 * and others get the processor meanwhile.
 */
#define _GNU_SOURCE
#include "map-self.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <time.h>

#define RUNS	CRYO_MAP_MAX_RUNS
#define RUN	(512 * 4096UL)
#define SIZE	(RUNS * RUN)

static volatile bool dropping;
static volatile double longest;
static int tap;
static bool bad;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Of this thread: whatever else the machine has to do. */
static double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void stay_on_one(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		DIE("sched_setaffinity");
}

/* How long does it not get the processor, while somebody else on it drops memory? */
static void *look_at_clock(void *unused)
{
	double last = now(), t;

	stay_on_one();
	for (;;) {
		t = now();
		if (dropping && t - last > longest)
			longest = t - last;
		last = t;
	}
	return unused;
}

static void ok(bool good, const char *what, double a, double b)
{
	printf("%sok %d - %s (%.3f s, %.3f s)\n", good ? "" : "not ", ++tap, what, a, b);
	bad |= !good;
}

static void drop(const char *how, char *area, double setting_up, bool unmaps)
{
	char what[128];
	double begin, cpu;

	longest = 0;
	cpu = cpu_time();
	begin = now();
	dropping = true;
	if (unmaps ? munmap(area, SIZE) : madvise(area, SIZE, MADV_DONTNEED))
		DIE(how);
	dropping = false;
	begin = now() - begin;
	cpu = cpu_time() - cpu;
	snprintf(what, sizeof(what), "%s takes no more than twenty times what setting it up has taken", how);
	ok(cpu < 20 * setting_up, what, cpu, setting_up);
	snprintf(what, sizeof(what), "%s: others get the processor before it is through", how);
	ok(longest < begin / 4 || longest < 1, what, longest, begin);
}

/* Returns what that has taken. */
static double map_area(int handle, char *area, struct cryo_map_run *runs)
{
	struct cryo_map_chunk chunk = { .nr_pages = 512 };
	struct cryo_map map = {
		.size = sizeof(map), .nr_runs = RUNS, .nr_chunks = 1, .runs = (uintptr_t)runs, .chunks = (uintptr_t)&chunk,
	};
	double begin;
	uint32_t i;

	for (i = 0; i < RUNS; i++)
		runs[i] = (struct cryo_map_run){ .start = (uintptr_t)area + i * RUN, .nr_pages = 512 };
	map.start = (uintptr_t)area;
	map.end = map.start + SIZE;
	begin = cpu_time();
	if (ioctl(handle, CRYO_RST_MAP, &map))
		DIE("CRYO_RST_MAP");
	return cpu_time() - begin;
}

int main(void)
{
	struct cryo_map_run *runs = calloc(RUNS, sizeof(*runs));
	int fd = open("pages", O_CREAT | O_RDWR, 0600), handle;
	char *areas[2];
	pthread_t other;
	double took[2];
	int i;

	if (!runs || ftruncate(fd, RUN))
		DIE("pages");
	close(fd);
	handle = handle_with("pages");
	for (i = 0; i < 2; i++) {
		areas[i] = new_area(SIZE);
		took[i] = map_area(handle, areas[i], runs);
	}
	pthread_create(&other, NULL, look_at_clock, NULL);
	stay_on_one();
	usleep(100000);
	drop("MADV_DONTNEED", areas[0], took[0], false);
	drop("munmap", areas[1], took[1], true);
	printf("1..%d\n", tap);
	fflush(stdout);
	_exit(bad);
}
