// SPDX-License-Identifier: GPL-2.0-only
/* Threads that have other ids after a restart take part in the next checkpoint as before. */
#include <sys/syscall.h>

#include "check.h"

enum { MAIN, OTHER, CALLERS };

static volatile int calls[CALLERS], through[CALLERS], ready, hold = CR_HOLD_BOTH;
static volatile pid_t before[CALLERS];

static pid_t tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static int callback(void *arg)
{
	long who = (long)arg;

	calls[who]++;
	cr_checkpoint(CR_CHECKPOINT_READY);
	through[who]++;
	return 0;
}

static void take_part(long who)
{
	cr_init();
	cr_register_callback(callback, (void *)who, CR_SIGNAL_CONTEXT);
	before[who] = tid();
}

static void *other(void *arg)
{
	take_part(OTHER);
	ready++;
	for (;;)
		pause_ms(5);
	return arg;
}

/* Blocks the signal, and has no callback: is not to be disturbed. */
static void *blocks(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, CR_SIGNUM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	cr_init();
	cr_hold_ctrl(CR_HOLD_SCOPE_THREAD, CR_HOLD_RSTRT);
	ready++;
	for (;;)
		pause_ms(5);
	return arg;
}

static void start(void)
{
	pthread_t thread;

	alarm(120);
	take_part(MAIN);
	cr_hold_ctrl(CR_HOLD_SCOPE_INIT, hold);
	cr_hold_ctrl(CR_HOLD_SCOPE_UNINIT, hold);
	pthread_create(&thread, NULL, other, NULL);
	pthread_create(&thread, NULL, blocks, NULL);
	while (ready < 2)
		pause_ms(5);
}

static void another(void)
{
	cr_checkpoint_args_t args;
	int i;

	ok(tid() != before[MAIN], "the restarted process has other ids");
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_timeout = 30;
	for (i = 0; i < 2; i++) {
		int main_calls = calls[MAIN], other_calls = calls[OTHER];

		is(checkpoint_with("again", &args, NULL), 0, "another checkpoint of it");
		is(calls[MAIN] - main_calls, 1, "with the callback of the main thread");
		is(calls[OTHER] - other_calls, 1, "and that of another one");
	}
}

static void in_callbacks(void)
{
	start();
	if (checkpoint_self("context") == CR_ERESTARTED) {
		for (int tries = 0; tries < 500 && (through[MAIN] != 1 || through[OTHER] != 1); tries++)
			pause_ms(10);
		ok(through[MAIN] == 1 && through[OTHER] == 1, "callbacks go on after a restart under other ids");
		another();
	}
}

static void not_held(void)
{
	hold = CR_HOLD_NONE;
	in_callbacks();
}

/* By none of our children, which would be in the context, too. */
static void checkpoint_by_others(void)
{
	char command[128];
	pid_t pid;

	snprintf(command, sizeof(command), "cr_checkpoint --pid --callbacks=no -f context %d; echo >done", getpid());
	pid = fork();
	if (pid == 0) {
		if (fork() == 0)
			execlp("sh", "sh", "-c", command, (char *)NULL);
		_exit(0);
	}
	end_of(pid);
}

/* Nobody in the process has noticed the restart. */
static void without_callbacks(void)
{
	pid_t own = getpid();

	start();
	checkpoint_by_others();
	while (getpid() == own && access("done", F_OK))
		pause_ms(10);
	if (getpid() != own)
		another();
	else
		is(access("context", F_OK), 0, "a checkpoint without callbacks");
}

int main(void)
{
	restart_options[0] = "--no-restore-pid";
	is(job(in_callbacks), 0, "other ids after a restart");
	is(job(not_held), 0, "other ids, and nobody is held");
	is(job(without_callbacks), 0, "other ids after a restart that nobody was told of");
	return finish();
}
