// SPDX-License-Identifier: GPL-2.0-only
/* A program that closes the descriptors that it does not know takes part in its checkpoints as before. */
#define _GNU_SOURCE
#include "check.h"
#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

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

/* ---- cr_request_file() of such a program */

static void (*volatile before)(void), (*volatile after)(void);
static volatile int log_file = -1;

static int acts(void *arg)
{
	(void)arg;
	if (before)
		before();
	last_result = cr_checkpoint(CR_CHECKPOINT_READY);
	if (after)
		after();
	return 0;
}

static int names(void)
{
	DIR *dir = opendir(".");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static void request(const char *file)
{
	last_result = 77;
	cr_request_file(file);
	while (cr_status() != CR_STATE_IDLE)
		pause_ms(10);
	/* What is left to do for the file. */
	pause_ms(200);
}

static bool is_context(const char *file)
{
	char command[100];

	snprintf(command, sizeof(command), "cr_info %s >/dev/null 2>&1", file);
	return !system(command);
}

static void open_log(void)
{
	log_file = open("log", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static void close_and_open(void)
{
	close_all();
	open_log();
}

/* All numbers, so that none of the library's is free. */
static void close_and_open_all(void)
{
	close_all();
	for (int fd = 3; fd < 64; fd++)
		open_log();
}

static void close_and_leave(void)
{
	close_all();
	if (chdir("/"))
		last_result = 78;
}

static void begin_files(void)
{
	alarm(100);
	cr_init();
	cr_register_callback(acts, NULL, CR_THREAD_CONTEXT);
	before = after = NULL;
	mkdir("files", 0700);
	is(chdir("files"), 0, "a directory");
	is(system("echo mine >log; echo old >own"), 0, "files");
}

static void file_closed_after(void)
{
	char *directory;
	int there;

	begin_files();
	directory = getcwd(NULL, 0);
	there = names();
	after = close_all;
	request("own");
	is(last_result, 0, "a checkpoint to a file, with a callback that closes all behind it");
	ok(is_context("own"), "it has its name");
	is(names(), there, "and nothing else is left");
	after = close_and_open_all;
	request("own");
	is(last_result, 0, "with one that opens others");
	ok(is_context("own"), "it has its name");
	is(names(), there, "and nothing else is left");
	is(write(63, "x", 1) + write(48, "x", 1) + write(3, "x", 1), 3, "the others are open");
	unlink("own");
	after = close_and_leave;
	request("own");
	is(last_result, 0, "with one that changes the directory");
	ok(chdir(directory) == 0 && is_context("own"), "it has its name");
	is(names(), there, "and nothing else is left");
	free(directory);
}

static void file_closed_before(void)
{
	int there, given;

	begin_files();
	there = names();
	before = close_and_open;
	request("own");
	is(last_result, -CR_ETEMPFAIL, "a checkpoint to a file, with a callback that closes all before it, fails");
	is(system("test \"$(cat own)\" = old"), 0, "the file has what it had");
	is(names(), there, "and nothing else is left");
	is(write(log_file, "m", 1), 1, "what has been opened is open");
	before = NULL;
	request("own");
	ok(is_context("own"), "the next one is made");
	/* In place. */
	unlink("own");
	given = dup2(open("own", O_WRONLY | O_CREAT, 0600), 100);
	before = close_and_open_all;
	request("/dev/fd/100");
	is(given, 100, "a descriptor to be written to");
	is(last_result, -CR_ETEMPFAIL, "a checkpoint to that, with such a callback, fails");
	is(system("test \"$(cat log)\" = mine"), 0, "the program's file has what it had");
	is(write(63, "m", 1) + write(48, "m", 1) + write(3, "m", 1), 3, "and is open");
}

/* But for the registration: the checkpoint is made. */
static void close_low(void)
{
	close_range(3, 40, 0);
	open_log();
}

static void file_restarted(void)
{
	alarm(100);
	cr_init();
	cr_register_callback(acts, NULL, CR_THREAD_CONTEXT);
	before = close_low;
	request("context");
	before = NULL;
	is(last_result > 0 ? 0 : last_result, 0, "a checkpoint with a callback that closes the file's descriptor");
	ok(is_context("context"), "the file has its name");
	is(write(log_file, "m", 1), 1, "what has its number is open");
	request("second");
	ok(is_context("second"), "and another one");
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
	is(job(file_closed_after), 0, "cr_request_file(), descriptors closed behind the checkpoint");
	is(job(file_closed_before), 0, "cr_request_file(), descriptors closed before it");
	is(job(file_restarted), 0, "cr_request_file(), and a restart");
	return finish();
}
