// SPDX-License-Identifier: GPL-2.0-only
/* Children that are forked in the middle of something. */
#include "check.h"

static volatile int in_child, stop;
static volatile pid_t child;

static int forks(void *arg)
{
	pid_t pid = fork();

	(void)arg;
	if (pid == 0)
		in_child = 1;
	else
		child = pid;
	return 0;
}

static void await_child(int wanted, const char *what)
{
	for (int tries = 0; tries < 500 && !child; tries++)
		pause_ms(10);
	is(child ? end_of(child) : -1, wanted, what);
}

/* The child goes on where the signal came. */
static void signal_context(void)
{
	int error;

	alarm(60);
	cr_init();
	cr_register_callback(forks, NULL, CR_SIGNAL_CONTEXT);
	error = checkpoint_self("a");
	if (in_child)
		_exit(3);
	is(error, 0, "a checkpoint with a callback in signal context that forks");
	await_child(3, "a child that returns from the callback goes on");
}

/* It has no other thread than that of the callback. */
static void thread_context(void)
{
	alarm(60);
	cr_init();
	cr_register_callback(forks, NULL, CR_THREAD_CONTEXT);
	is(checkpoint_self("a"), 0, "a checkpoint with a callback in thread context that forks");
	await_child(0, "a child that returns from the callback ends");
	is(cr_enter_cs(0), 0, "and the parent is as before");
	cr_leave_cs(0);
}

static void *enters(void *arg)
{
	pause_ms(200);
	cr_init();
	cr_enter_cs(0);
	cr_leave_cs(0);
	_exit(5);
	return arg;
}

static void in_section(void)
{
	pthread_t thread;
	pid_t pid;

	alarm(60);
	cr_init();
	cr_enter_cs(0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(30);
		pthread_create(&thread, NULL, enters, NULL);
		pthread_exit(NULL);
	}
	is(end_of(pid), 5, "a child of a section ends its first thread, and another one enters a section");
	cr_leave_cs(0);
}

static cr_checkpoint_handle_t handle;

static void *reads_log(void *arg)
{
	char text[4096];

	while (!stop)
		cr_log_checkpoint(&handle, sizeof(text), text);
	return arg;
}

/* In the middle of what has a lock. */
static void in_log(void)
{
	cr_checkpoint_args_t args;
	pthread_t threads[2];
	int bad = 0, i;

	alarm(100);
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_fd = open("/dev/null", O_WRONLY);
	if (cr_request_checkpoint(&args, &handle))
		return;
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, reads_log, NULL);
	for (i = 0; i < 40 && !bad; i++) {
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			cr_checkpoint_handle_t inherited = handle;
			char text[64];

			alarm(10);
			cr_log_checkpoint(&inherited, sizeof(text), text);
			_exit(0);
		}
		bad = end_of(pid);
	}
	stop = 1;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	is(bad, 0, "children read logs");
	cr_reap_checkpoint(&handle);
}

int main(void)
{
	is(job(signal_context), 0, "fork() in signal context");
	is(job(thread_context), 0, "fork() in thread context");
	is(job(in_section), 0, "fork() in a section");
	is(job(in_log), 0, "fork() beside cr_log_checkpoint()");
	return finish();
}
