// SPDX-License-Identifier: GPL-2.0-only
/* A program that closes the descriptors that it does not know takes part in its checkpoints as before. */
#define _GNU_SOURCE
#include "check.h"
#include <sys/resource.h>
#include <sys/stat.h>

enum { WELL, LATE, OTHERWISE };

static volatile int calls, last_result = 77, signal_calls, closes_before, closes_after;

/* By a child, of this process; @at_signal: when it gets SIGUSR1. */
static pid_t fork_requester(const char *file, unsigned int seconds, bool at_signal)
{
	cr_checkpoint_args_t args;
	pid_t parent = getpid(), pid;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int error;

		if (at_signal)
			sigwaitinfo(&set, NULL);
		cr_initialize_checkpoint_args_t(&args);
		args.cr_scope = CR_SCOPE_PROC;
		args.cr_target = parent;
		args.cr_timeout = seconds;
		error = checkpoint_with(file, &args, NULL);
		_exit(error == 0 ? WELL : error == CR_ETEMPFAIL ? LATE : OTHERWISE);
	}
	return pid;
}

static int checkpoint_from_outside(const char *file, unsigned int seconds)
{
	return end_of(fork_requester(file, seconds, false));
}

static void close_all(void)
{
	close_range(3, ~0U, 0);
}

static int callback(void *arg)
{
	(void)arg;
	calls++;
	if (closes_before)
		close_all();
	last_result = cr_checkpoint(CR_CHECKPOINT_READY);
	if (closes_after)
		close_all();
	return 0;
}

static int signal_callback(void *arg)
{
	(void)arg;
	signal_calls++;
	return 0;
}

static void start(void)
{
	alarm(100);
	cr_init();
	cr_register_callback(callback, NULL, CR_THREAD_CONTEXT);
	cr_register_callback(signal_callback, NULL, CR_SIGNAL_CONTEXT);
}

static void await_result(int result)
{
	for (int tries = 0; tries < 500 && last_result != result; tries++)
		pause_ms(10);
	is(last_result, result, "cr_checkpoint() returns that");
	last_result = 77;
}

static void closed(void)
{
	start();
	for (int i = 1; i <= 3; i++) {
		close_all();
		is(checkpoint_from_outside("a", 20), WELL, "a checkpoint of a program that has closed all descriptors");
		is(calls, i, "its callback in thread context is called");
		is(signal_calls, i, "and the one in signal context");
		await_result(0);
	}
	is(checkpoint_from_outside("a", 20), WELL, "one with the descriptor that it has got");
	is(calls, 4, "likewise");
}

/* What it has at the numbers is its own, and its children's. */
static void taken(void)
{
	pid_t pid;
	int good = 0;

	start();
	close_all();
	for (int fd = 3; fd < 64; fd++)
		good += open("/dev/null", O_WRONLY) == fd;
	is(good, 61, "other files at all numbers");
	is(checkpoint_from_outside("a", 20), WELL, "a checkpoint");
	is(calls, 1, "its callback is called");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		for (int fd = 3; fd < 64; fd++)
			if (write(fd, "x", 1) != 1)
				_exit(fd);
		_exit(0);
	}
	is(end_of(pid), 0, "a child has the files, too");
}

static void low_numbers(void)
{
	start();
	is(open("/dev/null", O_WRONLY), 3, "the registration takes no low number");
	close(0);
	close_all();
	pause_ms(100);
	is(open("/dev/null", O_WRONLY), 0, "nor one that the program has just closed");
	is(checkpoint_from_outside("a", 20), WELL, "a checkpoint");
	is(calls, 1, "with the callback");
}

static void sections(void)
{
	alarm(100);
	cr_init();
	cr_enter_cs(0);
	cr_leave_cs(0);
	close_all();
	cr_enter_cs(0);
	is(checkpoint_from_outside("a", 1), LATE, "a critical section of such a program: no checkpoint");
	cr_leave_cs(0);
	is(checkpoint_from_outside("a", 20), WELL, "and one when it is left");
}

static void in_callback(void)
{
	start();
	closes_before = 1;
	is(checkpoint_from_outside("a", 20), LATE, "a callback that closes all: no checkpoint");
	await_result(-CR_ETEMPFAIL);
	closes_before = 0;
	pause_ms(200);
	is(checkpoint_from_outside("a", 20), WELL, "the next one is well");
	is(calls, 2, "with the callback");
	await_result(0);
	closes_after = 1;
	is(checkpoint_from_outside("a", 20), WELL, "a callback that closes all behind the checkpoint");
	closes_after = 0;
	pause_ms(200);
	is(checkpoint_from_outside("a", 20), WELL, "and the one after it");
	is(calls, 4, "with the callback");
}

static void limit_descriptors(rlim_t n)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = n;
	is(setrlimit(RLIMIT_NOFILE, &limit), 0, "setrlimit()");
}

/* The helper's call is interrupted. */
static void stop_and_continue(void)
{
	pid_t pid, parent = getpid();

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		kill(parent, SIGSTOP);
		pause_ms(100);
		kill(parent, SIGCONT);
		_exit(0);
	}
	end_of(pid);
	pause_ms(500);
}

/* No device from which another one could be had, as in a daemon that has changed its root directory. */
static void nowhere(void)
{
	pid_t requester;

	start();
	requester = fork_requester("a", 20, true);
	is(mkdir("empty", 0700) | chroot("empty") | chdir("/"), 0, "chroot()");
	close_all();
	stop_and_continue();
	kill(requester, SIGUSR1);
	is(end_of(requester), WELL, "a checkpoint where there is no device");
	is(calls, 1, "with the callback");
	await_result(0);
	stop_and_continue();
	is(open("/dev/cryo", O_RDWR), -1, "no device");
}

/* No descriptor can be had for a while, and the one that has been closed is noticed then. */
static void limited(void)
{
	struct rlimit before;

	start();
	close_all();
	getrlimit(RLIMIT_NOFILE, &before);
	limit_descriptors(3);
	stop_and_continue();
	limit_descriptors(before.rlim_cur);
	pause_ms(3000);
	is(checkpoint_from_outside("a", 20), WELL, "a checkpoint when there are descriptors again");
	is(calls, 1, "with the callback");
}

/* The descriptor is none of the context's, either. */
static void restarted(void)
{
	start();
	close_all();
	if (checkpoint_self("context") != CR_ERESTARTED)
		return;
	await_result(last_result > 0 ? last_result : 1);
	is(checkpoint_from_outside("a", 20), WELL, "a checkpoint of the restarted process");
	is(calls, 2, "with the callback");
}

int main(void)
{
	is(job(closed), 0, "descriptors closed");
	is(job(taken), 0, "descriptors taken");
	is(job(low_numbers), 0, "which descriptor");
	is(job(sections), 0, "sections");
	is(job(in_callback), 0, "descriptors closed in a callback");
	is(job(limited), 0, "no descriptors for a while");
	is(job(nowhere), 0, "no device");
	is(job(restarted), 0, "a restart");
	return finish();
}
