// SPDX-License-Identifier: GPL-2.0-only
/*
 * A parent in wait4(): after a checkpoint in place it reaps its child as ever.  A restart of the
 * parent alone has no child to wait for: then, and only then, the call ends with ECHILD.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;
static pthread_t thread;
static int rc, error, status;
static atomic_bool woken, early;

static void *waiter(void *arg)
{
	(void)arg;
	rc = waitpid(child, &status, 0);
	error = errno;
	early = !woken;
	return NULL;
}

static void setup(void)
{
	child = (pid_t)CRT_SYS(fork());
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	CRT_SYS(-pthread_create(&thread, NULL, waiter, NULL));
	crt_sleep_ms(100);
}

static void verify(void)
{
	bool alive = !kill(child, 0);

	if (alive)
		crt_ok(!early, "wait4() has not returned");
	woken = true;
	if (alive)
		kill(child, SIGTERM);
	pthread_join(thread, NULL);
	if (alive) {
		crt_same(rc, child, "wait4() gives the child");
		crt_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "and how it ended");
	} else {
		crt_same(rc, -1, "wait4() of a child that was left out fails");
		crt_same_str(strerror(error), strerror(ECHILD), "with");
	}
}

const struct crt_test crt_test = {
	.text = "wait4() goes on; without the child it is ECHILD, never EINTR",
	.setup = setup,
	.verify = verify,
	.checkpoint_args = "-p",
};
