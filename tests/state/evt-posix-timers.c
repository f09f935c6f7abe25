// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX timers: ids, clocks, what was left, intervals, whom they notify; signals that were pending come
 * once, with the expirations before and after.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SIGEV_THREAD_ID
#define SIGEV_THREAD_ID 4
#endif

#define FAR_S 100000
#define STRIKE_MS 5000
#define FAST_MS 100
#define LONG_S 1000

#define SIG_STRIKE SIGRTMIN
#define SIG_ONCE (SIGRTMIN + 1)
#define SIG_THREAD (SIGRTMIN + 2)
#define SIG_FAST (SIGRTMIN + 3)
#define SIG_RELATIVE (SIGRTMIN + 4)
#define SIG_CPU (SIGRTMIN + 5)
#define SIG_LONG (SIGRTMIN + 6)

static int strike, once, to_thread, fast, relative, cpu_due, rhythm;
static int periodic, date, asked, process_cpu, thread_cpu, unarmed, fresh;
static int fast_last;
static int64_t started, fast_since;
static time_t date_at;
static pid_t tid;
static pthread_t thread;
static pthread_barrier_t ready;
static siginfo_t thread_info;
static int thread_result, thread_again;
static atomic_int strikes, finish;
static atomic_llong struck_at;
static siginfo_t strike_info;

static void on_strike(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	strike_info = *info;
	struck_at = crt_now_ns();
	strikes++;
}

/* By the system call: the C library hides the id. */
static int create(clockid_t clock, int notify, int sig, int value)
{
	struct sigevent event = { .sigev_notify = notify, .sigev_signo = sig, .sigev_value.sival_int = value };
	int id = -1;

	if (notify == SIGEV_THREAD_ID)
		event._sigev_un._tid = tid;
	CRT_SYS(syscall(SYS_timer_create, clock, &event, &id));
	return id;
}

static void set(int id, int flags, int64_t ms, int64_t every_ms)
{
	struct itimerspec spec = { .it_value = { ms / 1000, ms % 1000 * 1000000 },
				   .it_interval = { every_ms / 1000, every_ms % 1000 * 1000000 } };

	CRT_SYS(syscall(SYS_timer_settime, id, flags, &spec, NULL));
}

static struct itimerspec get(int id)
{
	struct itimerspec spec;

	CRT_SYS(syscall(SYS_timer_gettime, id, &spec));
	return spec;
}

static int take(int sig, siginfo_t *info, int ms)
{
	struct timespec timeout = { ms / 1000, ms % 1000 * 1000000 };
	int64_t until = crt_now_ns() + ms * 1000000LL;
	sigset_t mask;
	int got;

	memset(info, 0, sizeof(*info));
	sigemptyset(&mask);
	sigaddset(&mask, sig);
	do
		got = sigtimedwait(&mask, info, &timeout);
	while (got < 0 && errno == EINTR && crt_now_ns() < until);
	return got < 0 ? -errno : got;
}

static void *notified(void *arg)
{
	siginfo_t again;

	(void)arg;
	tid = gettid();
	pthread_barrier_wait(&ready);
	while (!crt_go())
		crt_sleep_ms(20);
	thread_result = take(SIG_THREAD, &thread_info, 10000);
	thread_again = take(SIG_THREAD, &again, 0);
	/* Its clock is looked at. */
	while (!finish)
		crt_sleep_ms(20);
	return NULL;
}

static void start_thread(void)
{
	pthread_barrier_init(&ready, NULL, 2);
	CRT_SYS(-pthread_create(&thread, NULL, notified, NULL));
	pthread_barrier_wait(&ready);
}

static void make_quiet_ones(void)
{
	struct timespec now;
	clockid_t clock;

	periodic = create(CLOCK_REALTIME, SIGEV_SIGNAL, SIGUSR1, 0);
	set(periodic, 0, FAR_S * 1000LL, 7250);
	clock_gettime(CLOCK_REALTIME, &now);
	date_at = now.tv_sec + FAR_S;
	date = create(CLOCK_REALTIME, SIGEV_SIGNAL, SIGUSR1, 0);
	set(date, TIMER_ABSTIME, date_at * 1000LL, 0);
	asked = create(CLOCK_BOOTTIME, SIGEV_NONE, 0, 0);
	set(asked, 0, FAR_S * 1000LL, 3000);
	process_cpu = create(CLOCK_PROCESS_CPUTIME_ID, SIGEV_SIGNAL, SIGUSR1, 0);
	set(process_cpu, 0, FAR_S * 1000LL, 0);
	CRT_SYS(-pthread_getcpuclockid(thread, &clock));
	thread_cpu = create(clock, SIGEV_SIGNAL, SIGUSR1, 0);
	set(thread_cpu, 0, FAR_S * 1000LL, 0);
	unarmed = create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 0);
}

/* Each expires, and its signal waits. */
static void make_due_ones(void)
{
	siginfo_t info;

	fast = create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG_FAST, 3);
	relative = create(CLOCK_REALTIME, SIGEV_SIGNAL, SIG_RELATIVE, 4);
	once = create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG_ONCE, 1);
	to_thread = create(CLOCK_MONOTONIC, SIGEV_THREAD_ID, SIG_THREAD, 2);
	rhythm = create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG_LONG, 6);
	cpu_due = create(CLOCK_THREAD_CPUTIME_ID, SIGEV_SIGNAL, SIG_CPU, 5);
	set(fast, 0, FAST_MS, FAST_MS);
	set(once, 0, 1, 0);
	set(to_thread, 0, 1, 0);
	set(rhythm, 0, 1, LONG_S * 1000);
	set(cpu_due, 0, 1, 0);
	crt_sleep_ms(FAST_MS * 6);
	CRT_SYS(take(SIG_FAST, &info, 10000) - SIG_FAST);
	fast_last = (int)CRT_SYS(syscall(SYS_timer_getoverrun, fast));
	set(relative, 0, FAST_MS, FAST_MS);
	fast_since = crt_now_ns();
	for (volatile int i = 0; i < 20000000; i++)
		;
	crt_sleep_ms(1500);
}

static void setup(void)
{
	struct sigaction act = { .sa_sigaction = on_strike, .sa_flags = SA_SIGINFO | SA_RESTART };
	sigset_t mask;
	int gone[4];

	sigemptyset(&mask);
	for (int sig = SIG_STRIKE + 1; sig <= SIG_LONG; sig++)
		sigaddset(&mask, sig);
	CRT_SYS(sigprocmask(SIG_BLOCK, &mask, NULL));
	sigaction(SIG_STRIKE, &act, NULL);
	start_thread();
	for (int i = 0; i < 4; i++)
		gone[i] = create(CLOCK_MONOTONIC, SIGEV_NONE, 0, 0);
	make_quiet_ones();
	for (int i = 0; i < 4; i++)
		CRT_SYS(syscall(SYS_timer_delete, gone[i]));
	make_due_ones();
	fresh = create(CLOCK_MONOTONIC, SIGEV_NONE, 0, 0);
	CRT_SYS(syscall(SYS_timer_delete, fresh));
	strike = create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG_STRIKE, 7);
	started = crt_now_ns();
	set(strike, 0, STRIKE_MS, 1000);
}

/* Once, and from this timer. */
static void same_signal(int sig, int id, int value, const char *name)
{
	siginfo_t info, again;

	crt_same(take(sig, &info, 10000), sig, "%s: its signal was pending", name);
	crt_ok(info.si_code == SI_TIMER && info.si_timerid == id, "%s: of that timer (code %d, id %d)", name,
	       info.si_code, info.si_timerid);
	crt_same(info.si_value.sival_int, value, "%s: value", name);
	if (!get(id).it_interval.tv_sec && !get(id).it_interval.tv_nsec)
		crt_same(take(sig, &again, 0), -EAGAIN, "%s: comes once", name);
}

static void same_left(int id, long long most_s, const char *name)
{
	long long left = get(id).it_value.tv_sec;

	crt_ok(left > most_s - 100 && left <= most_s, "%s: time left (%lld s)", name, left);
}

static void verify_quiet(void)
{
	struct timespec now;
	long long left;

	same_left(periodic, FAR_S, "relative");
	crt_ok(get(periodic).it_interval.tv_sec == 7 && get(periodic).it_interval.tv_nsec == 250000000,
	       "relative: interval");
	left = get(date).it_value.tv_sec;
	clock_gettime(CLOCK_REALTIME, &now);
	crt_ok(left > date_at - now.tv_sec - 5 && left <= date_at - now.tv_sec + 1,
	       "a date stays that date (%lld s left of %lld)", left, (long long)(date_at - now.tv_sec));
	same_left(asked, FAR_S, "without notification");
	crt_same(get(asked).it_interval.tv_sec, 3, "without notification: interval");
	same_left(process_cpu, FAR_S, "CPU time of the process");
	same_left(thread_cpu, FAR_S, "CPU time of a thread");
	crt_ok(!get(unarmed).it_value.tv_sec && !get(unarmed).it_value.tv_nsec, "one that never ran does not run");
}

/* Expirations while the process was there, before and after, are counted; others are not. */
static void verify_overrun(int sig, int id, int value, const char *name)
{
	int64_t lived = (crt_now_ns() - fast_since - crt_gap_ns()) / 1000000;
	int overrun;

	same_signal(sig, id, value, name);
	overrun = (int)syscall(SYS_timer_getoverrun, id);
	crt_ok(overrun > (lived - 1500) / FAST_MS && overrun < (lived + 2500) / FAST_MS,
	       "%s: %d expirations in %lld ms", name, overrun, (long long)lived);
}

static void verify_due(void)
{
	long long left;

	crt_same(syscall(SYS_timer_getoverrun, fast), fast_last, "overrun count of the last signal");
	verify_overrun(SIG_FAST, fast, 3, "fast");
	verify_overrun(SIG_RELATIVE, relative, 4, "fast, relative realtime");
	same_signal(SIG_ONCE, once, 1, "one shot");
	same_signal(SIG_CPU, cpu_due, 5, "CPU time");
	same_signal(SIG_LONG, rhythm, 6, "long interval");
	left = get(rhythm).it_value.tv_sec;
	crt_ok(left > LONG_S - 100 && left < LONG_S, "long interval: goes on in its rhythm (%lld s left)", left);
	finish = 1;
	pthread_join(thread, NULL);
	crt_same(thread_result, SIG_THREAD, "the thread gets its signal");
	crt_same(thread_info.si_timerid, to_thread, "of that timer");
	crt_same(thread_again, -EAGAIN, "once");
}

static void verify(void)
{
	int64_t lived;
	int id;

	verify_quiet();
	verify_due();
	for (int i = 0; i < 600 && strikes < 2; i++)
		crt_sleep_ms(50);
	lived = (struck_at - started - crt_gap_ns()) / 1000000;
	crt_ok(strikes >= 2, "strikes, and again by its interval");
	crt_ok(lived > STRIKE_MS - 1200, "not before %d ms of the process's own time (%lld)", STRIKE_MS,
	       (long long)lived);
	crt_ok(strike_info.si_code == SI_TIMER && strike_info.si_timerid == strike &&
	       strike_info.si_value.sival_int == 7, "with its code, id and value");
	id = create(CLOCK_MONOTONIC, SIGEV_NONE, 0, 0);
	crt_same(id, strike + 1, "the next timer gets the next id");
	CRT_SYS(syscall(SYS_timer_delete, id));
	for (id = 0; id <= strike + 1; id++)
		syscall(SYS_timer_delete, id);
}

const struct crt_test crt_test = {
	.text = "POSIX timers",
	.setup = setup,
	.verify = verify,
	.dead_ms = 3000,
};
