// SPDX-License-Identifier: GPL-2.0-only
/* After a restart the threads of the program wait until its callbacks are through, or as they have said. */
#include <time.h>

#include "check.h"

enum { OTHER, INITIALISED, OWN, SIGNAL, THREADS };

static volatile long counts[THREADS];
static volatile bool ran[THREADS], callback_through;
static volatile unsigned int waits;	/* a bit per thread: it should wait for the callbacks */
static volatile int own_hold = CR_HOLD_NONE, handled, handled_early, in_checkpoint = -1;
static bool with_signal, with_checkpoint;
static pthread_t threads[THREADS];

static int signal_callback(void *arg)
{
	(void)arg;
	cr_checkpoint(0);
	return 0;
}

static void *count(void *arg)
{
	long number = (long)arg;

	if (number != OTHER)
		cr_init();
	if (number == OWN)
		cr_hold_ctrl(CR_HOLD_SCOPE_THREAD, own_hold);
	if (number == SIGNAL)
		cr_register_callback(signal_callback, NULL, CR_SIGNAL_CONTEXT);
	for (;;) {
		counts[number]++;
		pause_ms(1);
	}
	return NULL;
}

static void handle(int number)
{
	(void)number;
	handled++;
}

static int checkpoint_without_callbacks(void)
{
	char number[16];
	pid_t pid;

	snprintf(number, sizeof(number), "%d", getpid());
	pid = fork();
	if (pid == 0) {
		execlp("cr_checkpoint", "cr_checkpoint", "--callbacks=no", "-f", "held", number, (char *)NULL);
		_exit(127);
	}
	return end_of(pid);
}

/* Which threads run while this one does? */
static int callback(void *arg)
{
	long before[THREADS];
	int i;

	(void)arg;
	if (cr_checkpoint(0) <= 0)
		return 0;
	if (with_signal)
		pthread_kill(threads[OTHER], SIGUSR1);
	pause_ms(100);
	for (i = 0; i < THREADS; i++)
		before[i] = counts[i];
	if (with_checkpoint)
		in_checkpoint = checkpoint_without_callbacks();
	pause_ms(200);
	for (i = 0; i < THREADS; i++) {
		/* On a busy machine it has to wait for a processor. */
		for (int tries = 0; tries < 100 && !(waits & 1U << i) && counts[i] == before[i]; tries++)
			pause_ms(50);
		ran[i] = counts[i] != before[i];
	}
	handled_early = handled;
	callback_through = true;
	return 0;
}

/* @held: a bit per thread. */
static void restart(int init, int uninit, unsigned int held)
{
	static const char *const names[] = { "a thread without cr_init()", "one with", "one with a hold of its own",
					     "one with a callback in signal context" };
	long i, before;

	cr_init();
	cr_hold_ctrl(CR_HOLD_SCOPE_INIT, init);
	cr_hold_ctrl(CR_HOLD_SCOPE_UNINIT, uninit);
	signal(SIGUSR1, handle);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, count, (void *)i);
	pause_ms(100);
	cr_register_callback(callback, NULL, CR_THREAD_CONTEXT);
	waits = held;
	if (checkpoint_self("context") != CR_ERESTARTED)
		return;
	/* This thread may not be held. */
	for (int tries = 0; tries < 2000 && !callback_through; tries++)
		pause_ms(10);
	for (i = 0; i < THREADS; i++) {
		bool wait = held & (1U << i);

		ok(ran[i] == !wait, "%s %s during callbacks", names[i], wait ? "waits" : "runs");
		before = counts[i];
		/* On a busy machine it has to wait for a processor. */
		for (int tries = 0; tries < 100 && counts[i] == before; tries++)
			pause_ms(50);
		ok(counts[i] != before, "and goes on after them");
	}
}

static void by_default(void)
{
	restart(CR_HOLD_BOTH, CR_HOLD_BOTH, 1U << OTHER | 1U << INITIALISED | 1U << SIGNAL);
}

static void initialised(void)
{
	restart(CR_HOLD_RSTRT, CR_HOLD_CONT, 1U << INITIALISED | 1U << SIGNAL);
}

static void others(void)
{
	own_hold = CR_HOLD_RSTRT;
	restart(CR_HOLD_CONT, CR_HOLD_RSTRT, 1U << OTHER | 1U << OWN);
}

static void none(void)
{
	restart(CR_HOLD_NONE, CR_HOLD_NONE, 0);
}

/* A thread that is held is as alive as others. */
static void disturbed(void)
{
	with_signal = with_checkpoint = true;
	own_hold = CR_HOLD_DFLT;
	restart(CR_HOLD_BOTH, CR_HOLD_BOTH, (1U << THREADS) - 1);
	if (in_checkpoint < 0)
		return;
	is(in_checkpoint, 0, "a checkpoint of held threads, without callbacks");
	is(handled_early, 0, "a signal waits");
	is(handled, 1, "until the thread goes on");
}

static int kills(void *arg)
{
	(void)arg;
	if (cr_checkpoint(0) > 0) {
		alarm(10);
		kill(getpid(), SIGKILL);
	}
	return 0;
}

static void killed(void)
{
	cr_init();
	cr_register_callback(kills, NULL, CR_THREAD_CONTEXT);
	checkpoint_self("context");
}

int main(void)
{
	struct timespec before, after;
	int bad = job(by_default);

	bad |= job(initialised);
	bad |= job(others);
	bad |= job(none);
	bad |= job(disturbed);
	clock_gettime(CLOCK_MONOTONIC, &before);
	is(job(killed), 256 + SIGKILL, "a process whose threads are held can be killed");
	clock_gettime(CLOCK_MONOTONIC, &after);
	ok(after.tv_sec - before.tv_sec < 30, "at once");
	return finish() || bad;
}
