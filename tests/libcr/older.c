// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process may come to an older module than the library has been made for, as by a restart on another machine: the vote says more
 * than that knows.  And whoever does not vote at all is not waited for when it has said that it waits for the next request.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <cryo/client.h>
#include <cryo/ioctl.h>

#include "check.h"

enum { TIMEOUT = 30 };

static volatile int refused;

/* The library's: as of a module that does not know the flag. */
int ioctl(int fd, unsigned long call, ...)
{
	va_list args;
	void *arg;

	va_start(args, call);
	arg = va_arg(args, void *);
	va_end(args);
	if (call == CRYO_CLIENT_VOTE && ((struct cryo_client_vote *)arg)->flags & CRYO_VOTE_NO_END) {
		refused++;
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_ioctl, fd, call, arg);
}

/* By a child, of this process: what comes of it, and whether the log says @what. */
static int checkpoint_from_outside(const char *what)
{
	cr_checkpoint_args_t args;
	pid_t parent = getpid(), pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		char *text = NULL;
		int error;

		cr_initialize_checkpoint_args_t(&args);
		args.cr_scope = CR_SCOPE_PROC;
		args.cr_target = parent;
		args.cr_timeout = TIMEOUT;
		error = checkpoint_with("a", &args, &text);
		if (what && !(text && strstr(text, what)))
			_exit(1);
		_exit(error == 0 ? 2 : error == CR_ETEMPFAIL ? 3 : 4);
	}
	return end_of(pid);
}

static void older(void)
{
	alarm(200);
	cr_init();
	cr_enter_cs(0);
	cr_leave_cs(0);
	is(checkpoint_from_outside(NULL), 2, "a checkpoint by a module that refuses a flag of the vote");
	ok(refused > 0, "it has been refused");
	is(checkpoint_from_outside(NULL), 2, "and another one");
}

static void *waits_only(void *arg)
{
	for (;;) {
		struct cryo_client_request request = { .size = sizeof(request) };

		if (ioctl((int)(long)arg, CRYO_CLIENT_WAIT, &request) && errno != EINTR)
			return NULL;
	}
}

static void without_vote(void)
{
	struct cryo_client client = { .size = sizeof(client) };
	struct timespec before, after;
	pthread_t thread;
	int handle;

	alarm(200);
	handle = ioctl(open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), CRYO_IOC_CLIENT, &client);
	ok(handle >= 0, "a handle");
	pthread_create(&thread, NULL, waits_only, (void *)(long)handle);
	clock_gettime(CLOCK_MONOTONIC, &before);
	is(checkpoint_from_outside("it has not voted, and waits for another checkpoint"), 3,
	   "who waits for the next request instead of a vote has refused this one");
	clock_gettime(CLOCK_MONOTONIC, &after);
	ok(after.tv_sec - before.tv_sec < TIMEOUT - 5, "at once");
}

int main(void)
{
	is(job(older), 0, "an older module");
	is(job(without_vote), 0, "no vote");
	return finish();
}
