// SPDX-License-Identifier: GPL-2.0-only
/* The action of every signal: handler, flags, mask, restorer. */
#define _GNU_SOURCE
#include "crtest.h"
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct kernel_action {			/* as rt_sigaction(2) has it */
	void *handler;
	unsigned long flags;
	void *restorer;
	unsigned long mask;
};

static struct kernel_action before[65];
static volatile int last, last_value;

static struct kernel_action get(int sig)
{
	struct kernel_action act;

	memset(&act, 0, sizeof(act));
	CRT_SYS(syscall(SYS_rt_sigaction, sig, NULL, &act, 8));
	return act;
}

static void simple(int sig)
{
	last = sig;
}

static void with_info(int sig, siginfo_t *info, void *ctx)
{
	(void)ctx;
	last = sig;
	last_value = info->si_value.sival_int;
}

static void set(int sig, struct sigaction act)
{
	CRT_SYS(sigaction(sig, &act, NULL));
}

static void setup(void)
{
	struct sigaction act = { .sa_handler = simple };

	set(SIGUSR1, act);
	sigaddset(&act.sa_mask, SIGUSR1);
	sigaddset(&act.sa_mask, SIGRTMAX);
	act.sa_flags = SA_RESTART | SA_NODEFER;
	set(SIGUSR2, act);
	act.sa_flags = SA_NOCLDSTOP | SA_NOCLDWAIT;
	set(SIGCHLD, act);
	act.sa_flags = SA_RESETHAND | SA_ONSTACK;
	set(SIGALRM, act);
	act = (struct sigaction){ .sa_sigaction = with_info, .sa_flags = SA_SIGINFO };
	for (int sig = SIGRTMIN; sig < SIGRTMAX; sig += 3)
		set(sig, act);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	for (int sig = 1; sig <= 64; sig++)
		before[sig] = get(sig);
}

static void verify(void)
{
	int bad = 0;

	for (int sig = 1; sig <= 64; sig++) {
		struct kernel_action now = get(sig);

		if (memcmp(&now, &before[sig], sizeof(now))) {
			crt_diag("signal %d: handler %p flags %#lx mask %#lx, was %p %#lx %#lx", sig, now.handler,
				 now.flags, now.mask, before[sig].handler, before[sig].flags, before[sig].mask);
			bad++;
		}
	}
	crt_same(bad, 0, "all 64 are as they were");
	raise(SIGUSR2);
	crt_same(last, SIGUSR2, "a handler runs");
	sigqueue(getpid(), SIGRTMIN + 3, (union sigval){ .sival_int = 33 });
	crt_ok(last == SIGRTMIN + 3 && last_value == 33, "one with siginfo too");
	raise(SIGPIPE);
	crt_ok(true, "an ignored signal is ignored");
}

const struct crt_test crt_test = {
	.text = "signal actions",
	.setup = setup,
	.verify = verify,
};
