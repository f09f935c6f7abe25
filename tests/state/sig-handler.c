// SPDX-License-Identifier: GPL-2.0-only
/* Checkpointed within a signal handler on an alternate stack: it returns to where the signal struck. */
#define _GNU_SOURCE
#include "crtest.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t nested;
static sigset_t mask_before, mask_inside_before, mask_inside_now;
static stack_t alt_now;

static void inner(int sig)
{
	(void)sig;
	sigprocmask(SIG_BLOCK, NULL, &mask_inside_before);
	crt_wait_go();
	sigprocmask(SIG_BLOCK, NULL, &mask_inside_now);
	sigaltstack(NULL, &alt_now);
	nested = 2;
}

static void outer(int sig)
{
	(void)sig;
	nested = 1;
	raise(SIGUSR2);
	nested += 10;
}

static void setup(void)
{
	stack_t alt = { .ss_sp = malloc(256 << 10), .ss_size = 256 << 10 };
	struct sigaction act = { .sa_handler = outer, .sa_flags = SA_ONSTACK };

	CRT_SYS(sigaltstack(&alt, NULL));
	sigaction(SIGUSR1, &act, NULL);
	act.sa_handler = inner;
	sigaddset(&act.sa_mask, SIGALRM);
	sigaction(SIGUSR2, &act, NULL);
	sigprocmask(SIG_BLOCK, NULL, &mask_before);
}

static void wait(void)
{
	raise(SIGUSR1);
}

static void verify(void)
{
	sigset_t now;

	crt_same(nested, 12, "both handlers returned");
	crt_ok(!memcmp(&mask_inside_now, &mask_inside_before, 8), "blocked signals inside the handler");
	crt_ok(sigismember(&mask_inside_now, SIGALRM) && sigismember(&mask_inside_now, SIGUSR1), "the expected ones");
	crt_same(alt_now.ss_flags, SS_ONSTACK, "it ran on the alternate stack");
	sigprocmask(SIG_BLOCK, NULL, &now);
	crt_ok(!memcmp(&now, &mask_before, 8), "blocked signals after its return");
}

const struct crt_test crt_test = {
	.text = "a signal handler in progress returns properly",
	.setup = setup,
	.wait = wait,
	.verify = verify,
};
