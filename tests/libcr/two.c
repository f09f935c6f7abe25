// SPDX-License-Identifier: GPL-2.0-only
/* Two copies of the library in one process: it is linked with the static one, and a plug-in of its own loads the other. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "check.h"

static volatile long counted;
static volatile int calls[2], foreign;
static __typeof__(&cr_init) other_init;
static __typeof__(&cr_register_callback) other_register;

static int callback(void *arg)
{
	cr_checkpoint(CR_CHECKPOINT_READY);
	calls[(long)arg]++;
	return 0;
}

static int other_callback(void *arg)
{
	calls[(long)arg]++;
	return 0;
}

static void *counts(void *arg)
{
	for (;;) {
		counted++;
		pause_ms(1);
	}
	return arg;
}

static bool load_other(void)
{
	void *library = dlopen("libcr.so.0", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	*(void **)&other_init = dlsym(library, "cr_init");
	*(void **)&other_register = dlsym(library, "cr_register_callback");
	return other_init && other_register && other_init != cr_init;
}

static void two(void)
{
	pthread_t thread;
	time_t before;
	long count;

	alarm(200);
	ok(load_other(), "two copies of the library");
	pthread_create(&thread, NULL, counts, NULL);
	cr_init();
	cr_register_callback(callback, (void *)0L, CR_THREAD_CONTEXT);
	other_init();
	other_register(other_callback, (void *)1L, CR_THREAD_CONTEXT);
	count = counted;
	before = time(NULL);
	if (checkpoint_self("context") == CR_ERESTARTED) {
		while (counted < count + 50)
			pause_ms(10);
		/* All are held for a minute, this one, too, if nobody lets them go. */
		ok(time(NULL) - before < 40, "after a restart no thread is held for longer than callbacks run");
	}
	for (int tries = 0; tries < 200 && (calls[0] != 1 || calls[1] != 1); tries++)
		pause_ms(10);
	ok(calls[0] == 1 && calls[1] == 1, "the callbacks of both have run");
}

static void handler(int signal)
{
	(void)signal;
	foreign++;
}

/* Each has found the other one's handler. */
static void signals(void)
{
	alarm(100);
	signal(CR_SIGNUM, handler);
	ok(load_other(), "two copies of the library");
	cr_init();
	cr_register_callback(callback, (void *)0L, CR_SIGNAL_CONTEXT);
	is(checkpoint_self("a"), 0, "a checkpoint");
	other_init();
	other_register(other_callback, (void *)1L, CR_THREAD_CONTEXT);
	is(checkpoint_self("a"), 0, "another one");
	is(checkpoint_self("a"), 0, "and another one");
	kill(getpid(), CR_SIGNUM);
	pause_ms(50);
	is(foreign, 1, "a signal that is nobody's goes to the program's handler, once");
}

int main(void)
{
	is(job(two), 0, "two copies of the library");
	is(job(signals), 0, "their signal");
	return finish();
}
