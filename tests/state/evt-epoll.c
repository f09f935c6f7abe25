// SPDX-License-Identifier: GPL-2.0-only
/*
 * epoll: targets that have reported, are disarmed, have lost their number, or are sets themselves; and all
 * that the kernel says of each registration.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TARGETS 64

enum { DISARMED = 1, REPORTED, UNREPORTED, CLOSED, REPLACED, INNER, EXCLUSIVE, TWICE, TIMER, REARMED };

static int set, quiet, inner, hung[2], reported, unreported, moved, replaced, replacing, number, twice, timer;
static char lines[TARGETS][128];
static int nr_lines;

static void add(int to, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };

	CRT_SYS(epoll_ctl(to, EPOLL_CTL_ADD, fd, &event));
}

/* Bit N: there was an event with the data N. */
static unsigned int ready(int fd)
{
	struct epoll_event events[TARGETS];
	int n = (int)CRT_SYS(epoll_wait(fd, events, TARGETS, 0));
	unsigned int bits = 0;

	for (int i = 0; i < n; i++)
		bits |= 1U << events[i].data.u64;
	return bits;
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* What fdinfo says of the targets, without the inodes: those of pipes and the like are others. */
static int registrations(char (*to)[128])
{
	char path[64], text[16384], *line, *rest = text;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", set);
	crt_slurp(path, text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, "tfd:", 4) && n < TARGETS)
			snprintf(to[n++], sizeof(to[0]), "%.*s", (int)strcspn(line, "p"), line);
	qsort(to, n, sizeof(to[0]), compare);
	return n;
}

static void make_oneshot(void)
{
	char byte;

	CRT_SYS(pipe(hung));
	add(set, hung[0], EPOLLIN | EPOLLONESHOT | EPOLLRDHUP, DISARMED);
	CRT_SYS(write(hung[1], "x", 1));
	if (ready(set) != 1U << DISARMED)
		crt_die("epoll does not report");
	CRT_SYS(read(hung[0], &byte, 1));
	close(hung[1]);
}

static void make_moved(void)
{
	int old;

	moved = (int)CRT_SYS(eventfd(0, EFD_NONBLOCK));
	old = (int)CRT_SYS(fcntl(moved, F_DUPFD, 100));
	number = old;
	add(set, old, EPOLLIN, CLOSED);
	replaced = (int)CRT_SYS(eventfd(0, EFD_NONBLOCK));
	replacing = (int)CRT_SYS(dup(replaced));
	add(set, replacing, EPOLLIN, REPLACED);
	CRT_SYS(dup3(quiet, replacing, O_CLOEXEC));
	close(old);
}

static void setup(void)
{
	set = (int)CRT_SYS(epoll_create1(0));
	quiet = (int)CRT_SYS(eventfd(0, EFD_NONBLOCK));
	make_oneshot();
	make_moved();
	inner = (int)CRT_SYS(epoll_create1(EPOLL_CLOEXEC));
	add(inner, quiet, EPOLLIN, 5);
	add(set, inner, EPOLLIN, INNER);
	add(set, quiet, EPOLLIN | EPOLLEXCLUSIVE, EXCLUSIVE);
	twice = (int)CRT_SYS(dup(quiet));
	add(set, twice, EPOLLIN | EPOLLWAKEUP, TWICE);
	timer = (int)CRT_SYS(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
	add(set, timer, EPOLLIN | EPOLLET, TIMER);
	reported = (int)CRT_SYS(eventfd(5, EFD_NONBLOCK));
	add(set, reported, EPOLLIN | EPOLLET, REPORTED);
	if (ready(set) != 1U << REPORTED)
		crt_die("epoll does not report an edge");
	unreported = (int)CRT_SYS(eventfd(5, EFD_NONBLOCK));
	add(set, unreported, EPOLLIN | EPOLLET, UNREPORTED);
	nr_lines = registrations(lines);
	if (nr_lines != 9)
		crt_die("fdinfo tells of %d targets", nr_lines);
}

static void raise_count(int fd)
{
	uint64_t one = 1;

	CRT_SYS(write(fd, &one, sizeof(one)));
}

static void clear_count(int fd)
{
	uint64_t count;

	CRT_SYS(read(fd, &count, sizeof(count)));
}

static void verify_registrations(void)
{
	static char now[TARGETS][128];
	int n = registrations(now);

	crt_same(n, nr_lines, "as many registrations");
	for (int i = 0; i < n && i < nr_lines; i++)
		crt_same_str(now[i], lines[i], "registration %d", i);
	crt_same(fcntl(number, F_GETFD), -1, "a closed number is closed");
	crt_same(fcntl(replacing, F_GETFD), FD_CLOEXEC, "another file has the other one");
}

static void verify(void)
{
	struct itimerspec soon = { .it_value = { 0, 1 } };
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = REARMED };

	verify_registrations();
	crt_same(ready(set), 1U << UNREPORTED, "an edge that was not reported is; no other, and no hang-up");
	crt_same(ready(set), 0, "once");
	raise_count(reported);
	crt_same(ready(set), 1U << REPORTED, "a new edge");
	raise_count(moved);
	crt_same(ready(set), 1U << CLOSED, "what is watched by a closed number");
	clear_count(moved);
	raise_count(replaced);
	crt_same(ready(set), 1U << REPLACED, "what is watched by a number that another file has");
	clear_count(replaced);
	crt_same(ready(inner), 0, "the inner set: nothing");
	raise_count(quiet);
	crt_same(ready(set), 1U << INNER | 1U << EXCLUSIVE | 1U << TWICE,
		 "one file by two numbers and by the inner set");
	crt_same(ready(inner), 1U << 5, "the inner set itself");
	clear_count(quiet);
	CRT_SYS(timerfd_settime(timer, 0, &soon, NULL));
	for (int i = 0; i < 100 && !(ready(set) & 1U << TIMER); i++)
		crt_sleep_ms(20);
	crt_same(epoll_ctl(set, EPOLL_CTL_MOD, hung[0], &event), 0, "the disarmed one is armed again");
	crt_same(ready(set), 1U << REARMED, "and reports the hang-up");
}

const struct crt_test crt_test = {
	.text = "epoll",
	.setup = setup,
	.verify = verify,
};
