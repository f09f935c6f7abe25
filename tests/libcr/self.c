// SPDX-License-Identifier: GPL-2.0-only
/* A program that checkpoints itself, and is restarted from that. */
#include "check.h"

static void *work(void *arg)
{
	int *result = (int *)arg;

	*result = checkpoint_self("context");
	return NULL;
}

/* Returns twice: once in the process that goes on, once in the one that is restarted. */
static void plain(void)
{
	int error = checkpoint_self("context");

	if (error == CR_ERESTARTED)
		ok(true, "after the restart the handle says CR_ERESTARTED");
	else
		is(error, 0, "a checkpoint of oneself, without cr_init()");
}

/* In a thread that has not called cr_init(), while others do all sorts of things. */
static void in_thread(void)
{
	pthread_t thread;
	int result = -1;

	pthread_create(&thread, NULL, work, &result);
	pthread_join(thread, NULL);
	if (result == CR_ERESTARTED)
		ok(true, "CR_ERESTARTED in another thread");
	else
		is(result, 0, "a checkpoint of oneself in another thread");
}

/* The handle is a descriptor like any other, and remains valid after EAGAIN. */
static void by_handle(void)
{
	cr_checkpoint_handle_t handle;
	cr_checkpoint_args_t args;
	struct timeval now = { 0, 0 };
	char text[64];
	int result;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_TREE;
	args.cr_fd = open("context", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (cr_request_checkpoint(&args, &handle)) {
		ok(false, "cr_request_checkpoint() of the own tree: %s", cr_strerror(errno));
		return;
	}
	result = cr_wait_checkpoint(&handle, &now);
	ok(result == 0 || result == 1, "cr_wait_checkpoint() without waiting");
	while (cr_wait_checkpoint(&handle, NULL) < 0 && errno == EINTR)
		;
	ok(cr_log_checkpoint(&handle, sizeof(text), text) >= 0, "cr_log_checkpoint()");
	errno = 0;
	result = cr_reap_checkpoint(&handle);
	if (result < 0 && errno == CR_ERESTARTED) {
		char byte = 0;

		ok(true, "the handle knows of the restart");
		is(write(args.cr_fd, &byte, 1), 1, "the context can be written to, to no effect");
	} else {
		is(result, 0, "cr_reap_checkpoint()");
	}
	is(fcntl((int)handle, F_GETFD), -1, "the handle is closed");
	close(args.cr_fd);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void old_call(void)
{
	static int restarted;
	pid_t before = getppid();

	cr_init();
	cr_request_file("context");
	while (cr_status() != CR_STATE_IDLE)
		pause_ms(5);
	restarted = getppid() != before;
	ok(true, "cr_request_file(): %s", restarted ? "restarted" : "going on");
}

int main(void)
{
	is(job(plain), 0, "a program that checkpoints itself");
	is(job(in_thread), 0, "from a thread");
	is(job(by_handle), 0, "step by step");
	is(job(old_call), 0, "by the old call");
	return finish();
}
