// SPDX-License-Identifier: GPL-2.0-only
/* signalfd: mask, a signal that waits in it, and one that comes after. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

static int fd, other, set;

static void setup(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 7 };
	union sigval value = { .sival_int = 4711 };
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, SIGUSR2);
	sigaddset(&mask, SIGRTMAX);
	CRT_SYS(sigprocmask(SIG_BLOCK, &mask, NULL));
	fd = (int)CRT_SYS(signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC));
	sigdelset(&mask, SIGRTMAX);
	other = (int)CRT_SYS(signalfd(-1, &mask, SFD_NONBLOCK));
	set = (int)CRT_SYS(epoll_create1(0));
	CRT_SYS(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
	CRT_SYS(sigqueue(getpid(), SIGRTMAX, value));
}

static long signal_in(int from, long *value)
{
	struct signalfd_siginfo info;

	if (read(from, &info, sizeof(info)) != sizeof(info))
		return -errno;
	*value = info.ssi_int;
	return info.ssi_signo;
}

static void verify(void)
{
	struct epoll_event event;
	long value = 0;

	crt_same(fcntl(fd, F_GETFD), FD_CLOEXEC, "close-on-exec");
	crt_same(epoll_wait(set, &event, 1, 0), 1, "epoll says that a signal waits");
	crt_same(signal_in(other, &value), -EAGAIN, "a signal outside of the mask is not read");
	crt_same(signal_in(fd, &value), SIGRTMAX, "one inside is");
	crt_same(value, 4711, "with its value");
	crt_same(signal_in(fd, &value), -EAGAIN, "once");
	crt_same(epoll_wait(set, &event, 1, 0), 0, "epoll: nothing left");
	kill(getpid(), SIGUSR2);
	crt_same(epoll_wait(set, &event, 1, 10000), 1, "epoll: a new one");
	crt_same(signal_in(other, &value), SIGUSR2, "which is read");
}

const struct crt_test crt_test = {
	.text = "signalfd",
	.setup = setup,
	.verify = verify,
};
