// SPDX-License-Identifier: GPL-2.0-only
/* Threads that end inside their callbacks: no checkpoint, but the next one, and nobody waits for them. */
#include "check.h"
#include <sys/resource.h>

enum how { EXITS, IS_CANCELLED, IS_CANCELLED_AT_ANY_PLACE };

static volatile int how, calls, ready, leaves_once, waits_result = 77, after;

static int leaves(void *arg)
{
	(void)arg;
	if (how == EXITS)
		pthread_exit(NULL);
	for (;;) {
		if (how == IS_CANCELLED)
			pthread_testcancel();
		else
			for (volatile int i = 0; i < 1000; i++)
				;
		if (how == IS_CANCELLED_AT_ANY_PLACE)
			pause_ms(1);
	}
	return 0;
}

static int counts(void *arg)
{
	(void)arg;
	calls++;
	return 0;
}

static void *thread_main(void *arg)
{
	int before;

	cr_init();
	if (how == IS_CANCELLED_AT_ANY_PLACE)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
	cr_register_callback(leaves, NULL, CR_SIGNAL_CONTEXT);
	ready = 1;
	/* No place where it is cancelled but the callback. */
	while (!after)
		;
	return arg;
}

static int checkpoint(void)
{
	cr_checkpoint_args_t args;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_timeout = 20;
	return checkpoint_with("a", &args, NULL);
}

/* Nothing is left of the checkpoint that has failed. */
static void goes_on(int wanted_calls)
{
	cr_init();
	is(cr_enter_cs(0), 0, "a critical section afterwards");
	cr_leave_cs(0);
	is(checkpoint(), 0, "the next checkpoint");
	is(calls, wanted_calls, "with callbacks");
}

static void in_signal_context(enum how wanted)
{
	pthread_t thread;

	how = wanted;
	alarm(100);
	cr_init();
	cr_register_callback(counts, NULL, CR_THREAD_CONTEXT);
	pthread_create(&thread, NULL, thread_main, NULL);
	while (!ready)
		pause_ms(5);
	if (how == IS_CANCELLED)
		pthread_cancel(thread);
	is(checkpoint(), CR_ETEMPFAIL, "a callback in signal context that ends its thread: no checkpoint");
	pthread_join(thread, NULL);
	goes_on(2);
}

static void exits(void)
{
	in_signal_context(EXITS);
}

static void cancelled(void)
{
	in_signal_context(IS_CANCELLED);
}

static void *cancels(void *arg)
{
	pause_ms(1000);
	pthread_cancel(*(pthread_t *)arg);
	return NULL;
}

static void cancelled_at_any_place(void)
{
	pthread_t thread, other;

	how = IS_CANCELLED_AT_ANY_PLACE;
	alarm(100);
	cr_init();
	cr_register_callback(counts, NULL, CR_THREAD_CONTEXT);
	pthread_create(&thread, NULL, thread_main, NULL);
	while (!ready)
		pause_ms(5);
	pthread_create(&other, NULL, cancels, &thread);
	is(checkpoint(), CR_ETEMPFAIL, "a thread that is cancelled in its callback: no checkpoint");
	pthread_join(thread, NULL);
	goes_on(2);
}

static int leaves_the_first_time(void *arg)
{
	(void)arg;
	calls++;
	if (leaves_once == 1) {
		leaves_once = 0;
		pthread_exit(NULL);
	}
	cr_checkpoint(CR_CHECKPOINT_READY);
	if (leaves_once == 2) {
		leaves_once = 0;
		pthread_exit(NULL);
	}
	return 0;
}

static void in_thread_context(void)
{
	alarm(100);
	cr_init();
	leaves_once = 1;
	cr_register_callback(leaves_the_first_time, NULL, CR_THREAD_CONTEXT);
	is(checkpoint(), CR_ETEMPFAIL, "a callback in thread context that ends its thread: no checkpoint");
	goes_on(2);
	leaves_once = 2;
	is(checkpoint(), 0, "one that does so behind the checkpoint");
	pause_ms(200);
	goes_on(4);
}

static int waits(void *arg)
{
	(void)arg;
	waits_result = cr_checkpoint(CR_CHECKPOINT_READY);
	return 0;
}

static int leaves_behind_others(void *arg)
{
	(void)arg;
	calls++;
	cr_checkpoint(CR_CHECKPOINT_READY);
	pthread_exit(NULL);
	return 0;
}

/* Threads that were in theirs meanwhile. */
static void with_others(void)
{
	alarm(100);
	cr_init();
	cr_register_callback(waits, NULL, CR_SIGNAL_CONTEXT);
	cr_register_callback(leaves_behind_others, NULL, CR_THREAD_CONTEXT);
	is(checkpoint(), 0, "a callback that ends its thread, and one in signal context");
	pause_ms(200);
	is(waits_result, 0, "which learns how it has ended");
	waits_result = 77;
	is(checkpoint(), 0, "the next checkpoint");
	is(calls, 2, "with callbacks in thread context");
	for (int tries = 0; tries < 200 && waits_result == 77; tries++)
		pause_ms(10);
	is(waits_result, 0, "and in signal context");
}

static int prepares(void *arg)
{
	(void)arg;
	calls++;
	if (leaves_once) {
		leaves_once = 0;
		pthread_exit(NULL);
	}
	return 0;
}

static void in_prepare(void)
{
	alarm(100);
	cr_init();
	leaves_once = 1;
	cr_register_prepare(prepares, NULL, 0);
	is(checkpoint(), CR_ETEMPFAIL, "a prepare function that ends its thread: no checkpoint");
	goes_on(2);
}

static struct rlimit limit_before;

/* No number is free for the descriptor of the helper that is to come. */
static int leaves_at_limit(void *arg)
{
	struct rlimit limit;

	(void)arg;
	calls++;
	if (leaves_once) {
		leaves_once = 0;
		getrlimit(RLIMIT_NOFILE, &limit_before);
		limit = limit_before;
		limit.rlim_cur = 3;
		setrlimit(RLIMIT_NOFILE, &limit);
		pthread_exit(NULL);
	}
	return 0;
}

static void *exits_at_once(void *arg)
{
	pthread_exit(arg);
}

static void at_limit(void)
{
	pthread_t thread;

	alarm(100);
	/* The C library opens what it needs for that once. */
	pthread_create(&thread, NULL, exits_at_once, NULL);
	pthread_join(thread, NULL);
	cr_init();
	leaves_once = 1;
	cr_register_callback(leaves_at_limit, NULL, CR_THREAD_CONTEXT);
	is(checkpoint(), CR_ETEMPFAIL, "a callback that ends its thread where no descriptor can be had");
	pause_ms(500);
	setrlimit(RLIMIT_NOFILE, &limit_before);
	pause_ms(3000);
	is(checkpoint(), 0, "a checkpoint when there are descriptors again");
	is(calls, 2, "with the callback");
}

int main(void)
{
	is(job(exits), 0, "pthread_exit()");
	is(job(cancelled), 0, "pthread_cancel()");
	is(job(cancelled_at_any_place), 0, "asynchronous cancellation");
	is(job(in_thread_context), 0, "thread context");
	is(job(with_others), 0, "both contexts");
	is(job(in_prepare), 0, "prepare functions");
	is(job(at_limit), 0, "no descriptors for a while");
	return finish();
}
