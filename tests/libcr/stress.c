// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many checkpoints of a busy program: critical sections in eight threads, callbacks in both contexts, callbacks
 * that fork, execute, take locks and throw signals. LIBCR_SECONDS (10) and LIBCR_CHECKPOINTS (100) say how long.
 */
#include "check.h"

#define THREADS 8

static volatile int stop, in_section, torn, signals;
static volatile long entered;
static int callbacks[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long number(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? atol(text) : otherwise;
}

static int looks(void *arg)
{
	__atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
	if (in_section)
		torn++;
	cr_checkpoint(CR_CHECKPOINT_READY);
	if (in_section)
		torn++;
	return 0;
}

static void *busy(void *arg)
{
	long i = 0;

	cr_init();
	if (arg)
		cr_register_callback(looks, &callbacks[1], CR_SIGNAL_CONTEXT);
	while (!stop) {
		if (i % 3 == 0 && cr_tryenter_cs(0) != 0)
			continue;
		if (i++ % 3)
			cr_enter_cs(0);
		__atomic_add_fetch(&in_section, 1, __ATOMIC_SEQ_CST);
		if (i % 64 == 0)
			pause_ms(1);
		__atomic_add_fetch(&entered, 1, __ATOMIC_SEQ_CST);
		__atomic_sub_fetch(&in_section, 1, __ATOMIC_SEQ_CST);
		cr_leave_cs(0);
	}
	return NULL;
}

static void sections(void)
{
	pthread_t threads[THREADS];
	time_t end = time(NULL) + number("LIBCR_SECONDS", 10);
	int made = 0, failed = 0, i;

	cr_init();
	cr_register_callback(looks, &callbacks[0], CR_THREAD_CONTEXT);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, busy, i % 2 ? &callbacks : NULL);
	pause_ms(200);
	while (time(NULL) < end) {
		failed += checkpoint_self("a") != 0;
		made++;
	}
	stop = 1;
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ok(made > 3, "%d checkpoints between %ld critical sections", made, entered);
	is(failed, 0, "all of them are well");
	is(torn, 0, "none in the middle of a section");
	is(callbacks[0], made, "callbacks in thread context");
	is(callbacks[1], made * THREADS / 2, "callbacks in signal context");
}

static int quick(void *arg)
{
	++*(int *)arg;
	return 0;
}

static void many(void)
{
	long wanted = number("LIBCR_CHECKPOINTS", 100);
	int failed = 0, i;

	cr_init();
	cr_register_callback(quick, &callbacks[0], CR_THREAD_CONTEXT);
	for (i = 0; i < wanted; i++)
		failed += checkpoint_self("a") != 0;
	is(failed, 0, "checkpoints of oneself, one after the other");
	pause_ms(100);
	is(callbacks[0], wanted, "each with its callback");
	i = open("/dev/null", O_RDONLY);
	ok(i < 10, "no descriptor is left over (%d)", i);
}

static void count_signal(int signal)
{
	(void)signal;
	signals++;
}

static int does_it_all(void *arg)
{
	pid_t pid = fork();
	char *text;

	(void)arg;
	if (pid == 0)
		execlp("true", "true", (char *)NULL);
	if (end_of(pid))
		torn++;
	pthread_mutex_lock(&lock);
	text = (char *)malloc(100000);
	memset(text, 1, 100000);
	kill(getpid(), SIGUSR1);
	cr_checkpoint(CR_CHECKPOINT_READY);
	kill(getpid(), SIGUSR1);
	free(text);
	pthread_mutex_unlock(&lock);
	pid = fork();
	if (pid == 0)
		_exit(3);
	if (end_of(pid) != 3)
		torn++;
	callbacks[0]++;
	return 0;
}

static void *ends(void *arg)
{
	cr_init();
	cr_register_callback(quick, arg, CR_SIGNAL_CONTEXT);
	return NULL;
}

static void all_sorts(void)
{
	pthread_t thread;
	int i, failed = 0;

	signal(SIGUSR1, count_signal);
	cr_init();
	cr_register_callback(does_it_all, NULL, CR_THREAD_CONTEXT);
	for (i = 0; i < 5; i++) {
		/* One that is gone, or going, when it is asked for. */
		pthread_create(&thread, NULL, ends, &callbacks[1]);
		failed += checkpoint_self("a") != 0;
		pthread_join(thread, NULL);
	}
	/* The last one's second half. */
	for (i = 0; i < 100 && callbacks[0] < 5; i++)
		pause_ms(50);
	is(failed, 0, "callbacks that fork, execute, lock, allocate and throw signals");
	is(callbacks[0], 5, "all of them ran");
	is(torn, 0, "their children as well");
	ok(signals > 0, "signals came");
}

int main(void)
{
	is(job(sections), 0, "critical sections");
	is(job(many), 0, "many checkpoints");
	is(job(all_sorts), 0, "all sorts of callbacks");
	return finish();
}
