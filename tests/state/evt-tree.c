// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers and event descriptors of two processes: an epoll set and a timerfd that both have, a target of the
 * set that only the child has, an inotify instance that both have, and POSIX timers of each.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define FAR_S 100000
#define NEAR_S 50000

static int set, tfd, watcher, to_child[2], to_parent[2], own, timer;

static void add(int fd, uint64_t data)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = data };

	CRT_SYS(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
}

static int far_timer(int notify, int sig, long sec, long nsec)
{
	struct sigevent event = { .sigev_notify = notify, .sigev_signo = sig };
	struct itimerspec spec = { .it_value = { sec, nsec } };
	int id;

	CRT_SYS(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id));
	CRT_SYS(syscall(SYS_timer_settime, id, 0, &spec, NULL));
	return id;
}

static long left_of(int id)
{
	struct itimerspec spec;

	CRT_SYS(syscall(SYS_timer_gettime, id, &spec));
	return spec.it_value.tv_sec;
}

static long serve(char what)
{
	struct timespec none = { 0 };
	struct itimerspec spec;
	uint64_t one = 1;
	char buf[256];
	sigset_t mask;

	switch (what) {
	case 'e':
		return write(own, &one, sizeof(one));
	case 't':
		CRT_SYS(timerfd_gettime(tfd, &spec));
		return spec.it_value.tv_sec;
	case 'p':
		return left_of(timer);
	case 's':
		sigemptyset(&mask);
		sigaddset(&mask, SIGRTMIN);
		return sigtimedwait(&mask, NULL, &none);
	case 'w':
		return read(watcher, buf, sizeof(buf));
	}
	return -1;
}

static void child_main(void)
{
	long answer;
	sigset_t mask;
	char what;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	own = (int)CRT_SYS(eventfd(0, EFD_NONBLOCK));
	add(own, 2);
	sigemptyset(&mask);
	sigaddset(&mask, SIGRTMIN);
	CRT_SYS(sigprocmask(SIG_BLOCK, &mask, NULL));
	far_timer(SIGEV_SIGNAL, SIGRTMIN, 0, 1);
	timer = far_timer(SIGEV_NONE, 0, NEAR_S, 0);
	CRT_SYS(write(to_parent[1], "r", 1));
	while (read(to_child[0], &what, 1) == 1) {
		answer = serve(what);
		CRT_SYS(write(to_parent[1], &answer, sizeof(answer)));
	}
	_exit(0);
}

static long ask(char what)
{
	long answer = -1;

	CRT_SYS(write(to_child[1], &what, 1));
	CRT_SYS(read(to_parent[0], &answer, sizeof(answer)));
	return answer;
}

static void setup(void)
{
	struct itimerspec spec = { .it_value = { FAR_S, 0 } };
	char byte;

	CRT_SYS(pipe(to_child));
	CRT_SYS(pipe(to_parent));
	set = (int)CRT_SYS(epoll_create1(0));
	tfd = (int)CRT_SYS(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
	CRT_SYS(timerfd_settime(tfd, 0, &spec, NULL));
	add(tfd, 1);
	CRT_SYS(mkdir(crt_path("watched"), 0755));
	watcher = (int)CRT_SYS(inotify_init1(IN_NONBLOCK));
	CRT_SYS(inotify_add_watch(watcher, crt_path("watched"), IN_CREATE));
	if (!CRT_SYS(fork()))
		child_main();
	CRT_SYS(read(to_parent[0], &byte, 1));
	timer = far_timer(SIGEV_NONE, 0, FAR_S, 0);
	close(to_child[0]);
	close(to_parent[1]);
	crt_sleep_ms(200);
}

static unsigned int ready(void)
{
	struct epoll_event events[8];
	int n = (int)CRT_SYS(epoll_wait(set, events, 8, 0));
	unsigned int bits = 0;

	for (int i = 0; i < n; i++)
		bits |= 1U << events[i].data.u64;
	return bits;
}

static void verify(void)
{
	struct itimerspec spec = { .it_value = { 0, 1 } };
	long left = ask('t');

	crt_same(ready(), 0, "the set: nothing is ready");
	crt_same(ask('e'), 8, "the child raises what only it has");
	crt_same(ready(), 1U << 2, "the set watches that");
	crt_ok(left > FAR_S - 100 && left <= FAR_S, "the timerfd: time left, seen by the child (%ld s)", left);
	CRT_SYS(timerfd_settime(tfd, 0, &spec, NULL));
	crt_sleep_ms(100);
	crt_same(ready(), 1U << 1 | 1U << 2, "set by the parent, it expires in the set");
	crt_same(ask('t'), 0, "and for the child");
	left = left_of(timer);
	crt_ok(left > FAR_S - 100 && left <= FAR_S, "the parent's timer (%ld s left)", left);
	left = ask('p');
	crt_ok(left > NEAR_S - 100 && left <= NEAR_S, "the child's timer (%ld s left)", left);
	crt_same(ask('s'), SIGRTMIN, "the child's signal of a timer");
	crt_same(ask('s'), -1, "comes once");
	crt_same(ask('w'), -1, "inotify: nothing");
	crt_make_file("watched/new", 1, 1);
	crt_ok(ask('w') > 0, "the child reads the event of the instance that both have");
	unlink(crt_path("watched/new"));
}

const struct crt_test crt_test = {
	.text = "timers and event descriptors of two processes",
	.setup = setup,
	.verify = verify,
};
