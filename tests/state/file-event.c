// SPDX-License-Identifier: GPL-2.0-only
/* eventfd counters, and epoll sets with their targets, events and data. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int counter, semaphore, set, moved, fds[2];

static void add(int fd, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };

	CRT_SYS(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
}

static void setup(void)
{
	counter = (int)CRT_SYS(eventfd(12345, EFD_NONBLOCK));
	semaphore = (int)CRT_SYS(eventfd(3, EFD_NONBLOCK | EFD_SEMAPHORE | EFD_CLOEXEC));
	CRT_SYS(pipe(fds));
	set = (int)CRT_SYS(epoll_create1(EPOLL_CLOEXEC));
	add(counter, EPOLLIN, 0xfedcba9876543210);
	add(fds[0], EPOLLIN | EPOLLONESHOT, 22);
	add(fds[1], EPOLLOUT | EPOLLET, 33);
	moved = (int)CRT_SYS(dup(set));
}

static uint64_t value(int fd)
{
	uint64_t v = 0;

	return read(fd, &v, sizeof(v)) == sizeof(v) ? v : (uint64_t)-errno;
}

/* The events of one epoll_wait(), as a sum of data. */
static int ready(int fd, bool *with_counter, bool *with_read, bool *with_write)
{
	struct epoll_event events[8];
	int n = epoll_wait(fd, events, 8, 0);

	*with_counter = *with_read = *with_write = false;
	for (int i = 0; i < n; i++) {
		*with_counter |= events[i].data.u64 == 0xfedcba9876543210 && events[i].events == EPOLLIN;
		*with_read |= events[i].data.u64 == 22 && events[i].events == EPOLLIN;
		*with_write |= events[i].data.u64 == 33 && events[i].events == EPOLLOUT;
	}
	return n;
}

static void verify(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 22 };
	bool with_counter, with_read, with_write;

	crt_same(fcntl(set, F_GETFD), FD_CLOEXEC, "epoll: close-on-exec");
	crt_same(ready(moved, &with_counter, &with_read, &with_write), 2, "epoll: two targets are ready");
	crt_ok(with_counter && with_write, "epoll: the counter and the writing end, with their data");
	CRT_SYS(write(fds[1], "x", 1));
	ready(set, &with_counter, &with_read, &with_write);
	crt_ok(with_read, "epoll: now the reading end too");
	ready(set, &with_counter, &with_read, &with_write);
	crt_ok(!with_read, "epoll: that one once only");
	crt_same(epoll_ctl(set, EPOLL_CTL_MOD, fds[0], &event), 0, "epoll: targets can be changed");
	crt_same((long long)value(counter), 12345, "eventfd: counter");
	crt_same((long long)value(counter), -EAGAIN, "eventfd: then zero, and it does not block");
	crt_same((long long)value(semaphore), 1, "eventfd: semaphore, one");
	crt_same((long long)value(semaphore), 1, "two");
	crt_same((long long)value(semaphore), 1, "three");
	crt_same((long long)value(semaphore), -EAGAIN, "and no more");
	crt_same(fcntl(semaphore, F_GETFD), FD_CLOEXEC, "eventfd: close-on-exec");
}

const struct crt_test crt_test = {
	.text = "eventfd and epoll",
	.setup = setup,
	.verify = verify,
};
