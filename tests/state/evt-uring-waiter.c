// SPDX-License-Identifier: GPL-2.0-only
/*
 * io_uring: a thread and a process that have never submitted anything wait for what others submit. The wait goes on: its
 * result is 0, not an error of a system call that was cut off.
 */
#define _GNU_SOURCE
#include "uring.h"
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static struct uring of_thread, of_child;
static pthread_t thread;
static pid_t child;

/* An interrupted wait is made again, as every program does. */
static int wait_for_one(struct uring *r)
{
	int rc;

	do {
		rc = uring_enter(r, 0, 1);
	} while (rc < 0 && errno == EINTR);
	return rc < 0 ? errno : rc;
}

static void *waiter(void *result)
{
	*(int *)result = wait_for_one(&of_thread);
	return NULL;
}

static int result_of_thread = -1;

static void setup(void)
{
	if (!uring_make(&of_thread, 2, 0))
		crt_skip("no io_uring: %s", strerror(errno));
	if (!uring_make(&of_child, 2, 0))
		crt_die("no second ring: %s", strerror(errno));
	child = (pid_t)CRT_SYS(fork());
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(wait_for_one(&of_child));
	}
	if (pthread_create(&thread, NULL, waiter, &result_of_thread))
		crt_die("no thread");
}

static void verify(void)
{
	uint64_t user;
	int status;

	uring_add(&of_thread, IORING_OP_NOP, -1, NULL, 0, 1);
	crt_same(uring_enter(&of_thread, 1, 0), 1, "a request is submitted");
	pthread_join(thread, NULL);
	crt_same(result_of_thread, 0, "the thread that waited for it");
	crt_same(uring_take(&of_thread, &user), 0, "its completion");
	uring_add(&of_child, IORING_OP_NOP, -1, NULL, 0, 2);
	crt_same(uring_enter(&of_child, 1, 0), 1, "a request on the other ring");
	CRT_SYS(waitpid(child, &status, 0));
	crt_same(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0, "the process that waited for it");
	crt_same(uring_take(&of_child, &user), 0, "its completion");
}

const struct crt_test crt_test = {
	.text = "io_uring: waits of a thread and a process that have never submitted",
	.setup = setup,
	.verify = verify,
};
