// SPDX-License-Identifier: GPL-2.0-only
/* What can be called in callbacks, and by other threads meanwhile; threads that are not to be disturbed. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mount.h>

#include "check.h"

static volatile int calls, hooks, stop;

static void hook(cr_hook_event_t event)
{
	if (event == CR_HOOK_CONT_THREAD_CONTEXT) {
		ok(cr_hold_ctrl(CR_HOLD_SCOPE_THREAD, CR_HOLD_READ) >= 0, "cr_hold_ctrl() in its hook");
		is(cr_enter_cs(0), 0, "cr_enter_cs() there does nothing");
		is(cr_leave_cs(0), 0, "nor cr_leave_cs()");
		fails(cr_register_callback(NULL, NULL, CR_THREAD_CONTEXT), EBUSY);
	}
	hooks++;
}

static int calls_all(void *arg)
{
	(void)arg;
	ok(cr_register_hook(CR_HOOK_CONT_THREAD_CONTEXT, hook) == NULL, "cr_register_hook() in a callback in thread context");
	ok(cr_hold_ctrl(CR_HOLD_SCOPE_THREAD, CR_HOLD_READ) >= 0, "cr_hold_ctrl()");
	is(cr_inc_persist(), 0, "cr_inc_persist()");
	is(cr_dec_persist(), 1, "cr_dec_persist()");
	is(cr_init(), 0, "cr_init()");
	is(cr_status(), CR_STATE_ACTIVE, "cr_status()");
	return 0;
}

static void calls_in_thread_context(void)
{
	alarm(60);
	cr_init();
	cr_register_callback(calls_all, NULL, CR_THREAD_CONTEXT);
	is(checkpoint_self("a"), 0, "a checkpoint");
	for (int tries = 0; tries < 500 && !hooks; tries++)
		pause_ms(10);
	is(hooks, 1, "its hook has run");
}

static int counts(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static int prepares(void *arg)
{
	(void)arg;
	return 0;
}

static void *replaces(void *arg)
{
	cr_init();
	cr_register_callback(counts, NULL, CR_SIGNAL_CONTEXT);
	while (!stop)
		cr_replace_prepare(*(int *)arg, prepares, NULL, 0);
	return NULL;
}

static void nothing(cr_hook_event_t event)
{
	(void)event;
}

/* A callback that interrupts a call of the library. */
static void calls_meanwhile(void)
{
	pthread_t threads[2];
	time_t end = time(NULL) + 15;
	int id, made = 0, failed = 0, i;

	alarm(100);
	cr_init();
	id = cr_register_prepare(prepares, NULL, 0);
	cr_register_hook(CR_HOOK_CONT_NO_CALLBACKS, nothing);
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, replaces, &id);
	pause_ms(300);
	for (; time(NULL) < end && !failed; made++)
		failed += checkpoint_self("a") != 0;
	stop = 1;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	is(failed, 0, "checkpoints while threads are in calls of the library");
	is(calls, 2 * made, "callbacks in signal context have run");
}

static void *blocks(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, CR_SIGNUM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	cr_init();
	cr_hold_ctrl(CR_HOLD_SCOPE_THREAD, CR_HOLD_BOTH);
	*(volatile int *)arg = 1;
	for (;;)
		pause_ms(5);
	return NULL;
}

static void without_proc(void)
{
	cr_checkpoint_args_t args;
	pthread_t thread;
	volatile int ready = 0;

	alarm(60);
	ok(!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	   !mount("none", "/proc", "tmpfs", 0, NULL), "nothing is in /proc");
	cr_init();
	cr_register_callback(counts, NULL, CR_THREAD_CONTEXT);
	pthread_create(&thread, NULL, blocks, (void *)&ready);
	while (!ready)
		pause_ms(5);
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_timeout = 10;
	/* Its mounts may be an obstacle; callbacks come before these. */
	ok(checkpoint_with("/dev/null", &args, NULL) != CR_ETEMPFAIL, "a thread that blocks the signal is not waited for where that cannot be seen");
}

int main(void)
{
	is(job(calls_in_thread_context), 0, "calls in callbacks");
	is(job(calls_meanwhile), 0, "callbacks in calls");
	if (geteuid() == 0)
		is(job(without_proc), 0, "without /proc");
	return finish();
}
