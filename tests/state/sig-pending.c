// SPDX-License-Identifier: GPL-2.0-only
/* Signals pending for the process: siginfo, values, and the order of queued ones. */
#define _GNU_SOURCE
#include "crtest.h"
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define QUEUED 20

static sigset_t all;

static void queue(int sig, int value)
{
	CRT_SYS(sigqueue(getpid(), sig, (union sigval){ .sival_int = value }));
}

static void setup(void)
{
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < QUEUED; i++) {
		queue(SIGRTMIN + 5, 1000 + i);
		queue(SIGRTMIN + 1, 2000 + i);
	}
	queue(SIGUSR1, 77);
	queue(SIGUSR1, 78);				/* lost: standard signals do not queue */
	CRT_SYS(kill(getpid(), SIGUSR2));
	CRT_SYS(kill(getpid(), SIGRTMIN + 9));
}

static siginfo_t take(int sig)
{
	struct timespec zero = { 0, 0 };
	siginfo_t info;
	sigset_t set;

	memset(&info, 0, sizeof(info));
	sigemptyset(&set);
	sigaddset(&set, sig);
	if (sigtimedwait(&set, &info, &zero) < 0)
		info.si_signo = 0;
	return info;
}

static void queued(int sig, int first)
{
	int bad = 0;

	for (int i = 0; i < QUEUED; i++) {
		siginfo_t info = take(sig);

		bad += info.si_signo != sig || info.si_code != SI_QUEUE || info.si_value.sival_int != first + i ||
		       info.si_pid != getpid() || info.si_uid != getuid();
	}
	crt_same(bad, 0, "%d queued instances of signal %d, in order, with value and sender", QUEUED, sig);
	crt_same(take(sig).si_signo, 0, "and no more");
}

static void verify(void)
{
	siginfo_t info;
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	crt_ok(sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGRTMIN + 5), "all signals are blocked");
	queued(SIGRTMIN + 5, 1000);
	queued(SIGRTMIN + 1, 2000);
	info = take(SIGUSR1);
	crt_same(info.si_value.sival_int, 77, "SIGUSR1: value");
	crt_same(info.si_code, SI_QUEUE, "SIGUSR1: code");
	crt_same(take(SIGUSR1).si_signo, 0, "SIGUSR1: once only");
	info = take(SIGUSR2);
	crt_same(info.si_signo, SIGUSR2, "SIGUSR2 by kill()");
	crt_same(info.si_code, SI_USER, "SIGUSR2: code");
	crt_same(info.si_pid, getpid(), "SIGUSR2: sender");
	info = take(SIGRTMIN + 9);
	crt_same(info.si_code, SI_USER, "a real-time signal by kill()");
	sigpending(&mask);
	crt_ok(sigisemptyset(&mask), "nothing else is pending");
}

const struct crt_test crt_test = {
	.text = "pending signals of the process",
	.setup = setup,
	.verify = verify,
};
