// SPDX-License-Identifier: GPL-2.0-only
/*
 * When requests of oneself and cr_leave_cs() return: the caller's own callbacks in signal context have run then, unless somebody
 * has to be waited for who may wait for the caller.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { ROUNDS = 10 };

static volatile int answer, ended, refused, goes_on;
static sem_t limited;

static int callback(void *arg)
{
	int result;

	(void)arg;
	result = cr_checkpoint(answer);
	refused += result < 0;
	ended++;
	return 0;
}

static cr_checkpoint_handle_t handle;
static int output;

static int request(unsigned int timeout)
{
	cr_checkpoint_args_t args;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_timeout = timeout;
	args.cr_fd = output = open("a", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ended = refused = 0;
	return cr_request_checkpoint(&args, &handle);
}

/* 0, or the error. */
static int result(void)
{
	int got, error;

	do {
		got = cr_poll_checkpoint(&handle, NULL);
	} while (got == 0 || (got == CR_POLL_CHKPT_ERR_PRE && errno == EINTR));
	error = got < 0 ? errno : 0;
	close(output);
	return error;
}

static void begin(int context)
{
	cr_init();
	cr_register_callback(callback, NULL, context);
}

static void requests(void)
{
	int i, run = 0, idle = 0, written = 0, good = 0;
	struct stat st;

	begin(CR_SIGNAL_CONTEXT);
	for (i = 0; i < ROUNDS; i++) {
		good += request(0) == 0;
		run += ended == 1;
		idle += cr_status() == CR_STATE_IDLE;
		written += !stat("a", &st) && st.st_size > 4096;
		good += result() == 0;
	}
	is(good, 2 * ROUNDS, "checkpoints of oneself");
	is(run, ROUNDS, "the callback in signal context has run when cr_request_checkpoint() returns");
	is(idle, ROUNDS, "cr_status() is idle then");
	is(written, ROUNDS, "and the context is there");
	answer = CR_CHECKPOINT_TEMP_FAILURE;
	for (i = run = good = 0; i < ROUNDS; i++) {
		request(0);
		run += refused == 1;
		good += result() == CR_ETEMPFAIL;
	}
	is(run, ROUNDS, "so it is with one that refuses");
	is(good, ROUNDS, "the result");
}

static void leaves(void)
{
	int i, run = 0, idle = 0, before = 0, good = 0;
	cr_client_id_t id;

	begin(CR_SIGNAL_CONTEXT);
	id = cr_init();
	for (i = 0; i < ROUNDS; i++) {
		cr_enter_cs(id);
		good += request(0) == 0;
		before += ended || cr_status() != CR_STATE_PENDING;
		cr_leave_cs(id);
		run += ended == 1;
		idle += cr_status() == CR_STATE_IDLE;
		good += result() == 0;
	}
	is(good, 2 * ROUNDS, "checkpoints asked for in a section");
	is(before, 0, "none there");
	is(run, ROUNDS, "the callback has run when cr_leave_cs() returns");
	is(idle, ROUNDS, "cr_status() is idle then");
}

/* It would be lost otherwise. */
static void ends_at_once(void)
{
	int i, whole = 0;

	for (i = 0; i < 5; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			begin(CR_SIGNAL_CONTEXT);
			cr_request_file("left");
			_exit(0);
		}
		end_of(pid);
		whole += system("cr_info left >/dev/null") == 0;
		unlink("left");
	}
	is(whole, 5, "who ends when cr_request_file() has returned leaves a whole context");
}

/* In the place of what the caller has left in a section: when the signal is let in. */
static void leaves_blocked(void)
{
	int i, early = 0, run = 0, good = 0;
	cr_client_id_t id;
	sigset_t set;

	begin(CR_SIGNAL_CONTEXT);
	id = cr_init();
	sigemptyset(&set);
	sigaddset(&set, CR_SIGNUM);
	for (i = 0; i < ROUNDS; i++) {
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		cr_enter_cs(id);
		good += request(0) == 0;
		cr_leave_cs(id);
		early += ended != 0;
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		good += result() == 0;
		run += ended == 1;
	}
	is(good, 2 * ROUNDS, "checkpoints asked for in a section, with CR_SIGNUM blocked");
	is(early, 0, "no callback has run when cr_leave_cs() returns");
	is(run, ROUNDS, "it has when the signal has been let in");
}

/* ---- signals that are pending for the caller */

static void queue(int value, bool thread)
{
	siginfo_t info = {};

	info.si_code = SI_QUEUE;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = value;
	if (thread)
		syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), CR_SIGNUM, &info);
	else
		syscall(SYS_rt_sigqueueinfo, getpid(), CR_SIGNUM, &info);
}

/* The mask of /proc/self/status that is called that. */
static bool is_pending(const char *field)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long long mask = 0;
	char line[200];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, field, strlen(field)))
			mask = strtoull(line + strlen(field), NULL, 16);
	if (file)
		fclose(file);
	return mask >> (CR_SIGNUM - 1) & 1;
}

enum { MOST = 60 };

/* How many are pending, the values one after the other in @values. */
static int take_all(char *values)
{
	const struct timespec now = {};
	siginfo_t info;
	sigset_t set;
	int n = 0;

	sigemptyset(&set);
	sigaddset(&set, CR_SIGNUM);
	for (; n < MOST && sigtimedwait(&set, &info, &now) == CR_SIGNUM; n++)
		values[n] = info.si_code == SI_QUEUE && info.si_value.sival_int > 0 && info.si_value.sival_int < MOST ?
			    (char)('0' + info.si_value.sival_int) : 'x';
	values[n] = '\0';
	return n;
}

static void block(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, CR_SIGNUM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Ours do not stay: each counts for the user's limit. Others' do. */
static void pending(void)
{
	char values[MOST + 1];
	int i, good = 0;

	begin(CR_SIGNAL_CONTEXT);
	block();
	for (i = 0; i < ROUNDS; i++)
		good += request(0) == 0 && ended == 1 && result() == 0;
	is(good, ROUNDS, "requests with CR_SIGNUM blocked");
	is(take_all(values), 0, "leave none pending");
	for (i = 1; i <= 3; i++)
		queue(i, true);
	for (; i <= 5; i++)
		queue(i, false);
	for (i = good = 0; i < ROUNDS; i++)
		good += request(0) == 0 && ended == 1 && result() == 0;
	is(good, ROUNDS, "requests with others' signals pending");
	ok(is_pending("SigPnd:"), "those for the thread are pending");
	ok(is_pending("ShdPnd:"), "those for the process, too");
	take_all(values);
	ok(!strcmp(values, "12345"), "all of them, in their order, and no other one: %s", values);
}

/* Ours is behind them. */
static void many_pending(void)
{
	char values[MOST + 1], wanted[MOST + 1] = "";
	int i;

	begin(CR_SIGNAL_CONTEXT);
	block();
	for (i = 1; i <= 40; i++) {
		queue(i, true);
		wanted[i - 1] = (char)('0' + i);
	}
	is(request(0) == 0 && ended == 1 && result() == 0, true, "a request with many others' signals pending");
	take_all(values);
	ok(!strcmp(values, wanted), "all of them stay, in their order, and no other one: %s", values);
}

static int scarce;

static void limit_to(rlim_t soft)
{
	struct rlimit limit;

	getrlimit(scarce, &limit);
	limit.rlim_cur = soft;
	setrlimit(scarce, &limit);
}

/* From here until the request returns. */
static int makes_scarce(void *arg)
{
	(void)arg;
	cr_checkpoint(CR_CHECKPOINT_READY);
	limit_to(0);
	sem_post(&limited);
	return 0;
}

static void *gives_back(void *arg)
{
	sem_wait(&limited);
	pause_ms(300);
	limit_to(*(rlim_t *)arg);
	return NULL;
}

/* With signals pending, and nothing left of @what, until somebody gives that back. Returns for whom some are then: 1: the process, 2: the thread. */
static int request_with_scarce(int what, bool again, char *values)
{
	struct rlimit limit;
	pthread_t thread;
	int i, left;

	sem_init(&limited, 0, 0);
	scarce = what;
	getrlimit(what, &limit);
	begin(CR_SIGNAL_CONTEXT);
	cr_register_callback(makes_scarce, NULL, CR_SIGNAL_CONTEXT);
	block();
	if (again)
		pthread_create(&thread, NULL, gives_back, &limit.rlim_cur);
	for (i = 1; i <= 3; i++)
		queue(i, what != RLIMIT_NOFILE);
	is(request(0), 0, "a request");
	if (again)
		pthread_join(thread, NULL);
	limit_to(limit.rlim_cur);
	is(result(), 0, "it is made");
	left = is_pending("ShdPnd:") + 2 * is_pending("SigPnd:");
	take_all(values);
	return left;
}

/* Others of the user may have taken the room that those had which are taken to get at ours. */
static void no_room(void)
{
	char values[MOST + 1];

	is(request_with_scarce(RLIMIT_SIGPENDING, false, values), 2, "where signals cannot be queued any more, the thread still has some");
	ok(!strcmp(values, "x"), "without the values: %s", values);
}

static void room_again(void)
{
	char values[MOST + 1];

	is(request_with_scarce(RLIMIT_SIGPENDING, true, values), 2, "where they can be a moment later, the thread has them");
	ok(!strcmp(values, "123"), "all of them: %s", values);
}

/* /proc cannot be read. */
static void no_descriptors(void)
{
	char values[MOST + 1];

	is(request_with_scarce(RLIMIT_NOFILE, false, values) & 1, 1, "without descriptors, signals for the process stay there");
	ok(strstr(values, "123"), "all of them: %s", values);
}

/* ---- who is not at its end yet when the caller's callbacks are */

static void ticks(int signal)
{
	(void)signal;
}

static int slow_end(void *arg)
{
	(void)arg;
	cr_checkpoint(CR_CHECKPOINT_READY);
	pause_ms(400);
	return 0;
}

static pid_t other;

static int forwards(void *arg)
{
	(void)arg;
	cr_forward_checkpoint(CR_SCOPE_PROC, other);
	cr_checkpoint(CR_CHECKPOINT_READY);
	return 0;
}

static pid_t start_slow(void)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (pid == 0) {
		cr_init();
		cr_register_callback(slow_end, NULL, CR_THREAD_CONTEXT);
		if (write(ready[1], "", 1) == 1)
			for (;;)
				pause();
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		pid = -1;
	close(ready[0]);
	return pid;
}

/* However many signals come meanwhile. */
static void ends_with_ticks(void)
{
	pid_t pid;

	other = start_slow();
	pid = fork();
	if (pid == 0) {
		struct itimerval often = { { 0, 2000 }, { 0, 2000 } };
		struct sigaction action = {};

		action.sa_handler = ticks;
		action.sa_flags = SA_RESTART;
		sigaction(SIGALRM, &action, NULL);
		cr_init();
		cr_register_callback(forwards, NULL, CR_SIGNAL_CONTEXT);
		setitimer(ITIMER_REAL, &often, NULL);
		cr_request_file("left");
		_exit(0);
	}
	is(end_of(pid), 0, "one that ends when cr_request_file() has returned, as others' callbacks go on and signals come");
	is(system("cr_info left >/dev/null"), 0, "leaves a whole context");
	kill(other, SIGKILL);
	end_of(other);
}

/* ---- who waits for the caller is not waited for */

static sem_t inside;

static void *in_section(void *arg)
{
	cr_client_id_t id = cr_init();

	(void)arg;
	cr_enter_cs(id);
	sem_post(&inside);
	while (!goes_on)
		pause_ms(5);
	cr_leave_cs(id);
	return NULL;
}

static void other_section(void)
{
	pthread_t thread;

	begin(CR_SIGNAL_CONTEXT);
	sem_init(&inside, 0, 0);
	pthread_create(&thread, NULL, in_section, NULL);
	sem_wait(&inside);
	is(request(0), 0, "a request while another thread is in a section, which waits for the caller");
	is(ended, 0, "returns before the callbacks");
	goes_on = 1;
	is(result(), 0, "it is made when that has left");
	is(ended, 1, "with callbacks");
	pthread_join(thread, NULL);
}

static int waits(void *arg)
{
	(void)arg;
	while (!goes_on)
		pause_ms(5);
	return 0;
}

static void *in_section_a_while(void *arg)
{
	cr_client_id_t id = cr_init();

	(void)arg;
	cr_enter_cs(id);
	sem_post(&inside);
	pause_ms(600);
	cr_leave_cs(id);
	return NULL;
}

/* However many signals come meanwhile. */
static void short_section(void)
{
	struct itimerval often = { { 0, 4000 }, { 0, 4000 } }, never = {};
	struct sigaction action = {};
	pthread_t thread;

	begin(CR_SIGNAL_CONTEXT);
	sem_init(&inside, 0, 0);
	pthread_create(&thread, NULL, in_section_a_while, NULL);
	sem_wait(&inside);
	action.sa_handler = ticks;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	is(request(0), 0, "a request while another thread is in a section for less than a second, and signals come");
	is(ended, 1, "returns when the callbacks have run");
	setitimer(ITIMER_REAL, &never, NULL);
	is(result(), 0, "it is made");
	pthread_join(thread, NULL);
}

static void thread_context(void)
{
	begin(CR_SIGNAL_CONTEXT);
	cr_register_callback(waits, NULL, CR_THREAD_CONTEXT);
	is(request(0), 0, "a request of a process with callbacks in thread context that wait for the caller");
	is(ended, 0, "returns before the callbacks");
	goes_on = 1;
	is(result(), 0, "it is made");
	is(ended, 1, "with callbacks");
}

static void prepares(void)
{
	begin(CR_SIGNAL_CONTEXT);
	cr_register_prepare(waits, NULL, 0);
	is(request(0), 0, "a request of a process with a prepare function that waits for the caller");
	is(ended, 0, "returns before the callbacks");
	goes_on = 1;
	is(result(), 0, "it is made");
	is(ended, 1, "with callbacks");
}

static void blocked(void)
{
	sigset_t all;

	begin(CR_SIGNAL_CONTEXT);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	is(request(0), 0, "a request with all signals blocked");
	is(ended, 1, "callbacks are run");
	is(result(), 0, "it is made");
	pthread_sigmask(SIG_UNBLOCK, &all, NULL);
	is(ended, 1, "once");
}

static void in_handler(int signal)
{
	(void)signal;
	goes_on = request(0) == 0 && ended == 1;
}

static void handler(void)
{
	struct sigaction action = {};

	begin(CR_SIGNAL_CONTEXT);
	action.sa_handler = in_handler;
	sigfillset(&action.sa_mask);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	is(goes_on, 1, "a request by a handler that blocks all signals");
	is(result(), 0, "it is made");
	is(ended, 1, "callbacks are run once");
}

static int forks(void *arg)
{
	(void)arg;
	cr_checkpoint(CR_CHECKPOINT_READY);
	fflush(stdout);
	goes_on = fork();
	return 0;
}

/* The child comes out of the call, too. */
static void fork_in_callback(void)
{
	pid_t self = getpid();

	cr_init();
	cr_register_callback(forks, NULL, CR_SIGNAL_CONTEXT);
	is(request(0), 0, "a request with a callback that forks");
	if (getpid() != self)
		_exit(7);
	is(end_of(goes_on), 7, "the child returns from it");
	is(result(), 0, "it is made");
}

static int again(void *arg)
{
	cr_checkpoint_handle_t other = handle;
	int other_output = output;

	(void)arg;
	cr_enter_cs(CR_ID_CALLBACK);
	cr_leave_cs(CR_ID_CALLBACK);
	goes_on = request(0) == 0 ? result() : errno;
	handle = other;
	output = other_output;
	return 0;
}

static void in_callback(void)
{
	begin(CR_SIGNAL_CONTEXT);
	cr_register_callback(again, NULL, CR_SIGNAL_CONTEXT);
	is(request(0), 0, "a request with a callback that makes another one");
	is(goes_on, EBUSY, "which is refused");
	is(result(), 0, "it is made");
}

static void *never_answers(void *arg)
{
	sigset_t set;

	(void)arg;
	begin(CR_SIGNAL_CONTEXT);
	sigemptyset(&set);
	sigaddset(&set, CR_SIGNUM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sem_post(&inside);
	while (!goes_on)
		pause_ms(5);
	return NULL;
}

static void late(void)
{
	pthread_t thread;

	begin(CR_SIGNAL_CONTEXT);
	sem_init(&inside, 0, 0);
	pthread_create(&thread, NULL, never_answers, NULL);
	sem_wait(&inside);
	is(request(1), 0, "a request whose time is over while callbacks of another thread do not come");
	is(result(), CR_ETEMPFAIL, "it fails");
	goes_on = 1;
	pthread_join(thread, NULL);
	is(request(0), 0, "the next one");
	is(ended, 1, "callbacks are run");
	is(result(), 0, "it is made");
}

/* ---- what is left of a request */

static int open_handles(void)
{
	DIR *dir = opendir("/proc/self/fd");
	char path[64], target[64];
	struct dirent *entry;
	int found = 0;

	while ((entry = readdir(dir))) {
		ssize_t got;

		snprintf(path, sizeof(path), "/proc/self/fd/%.20s", entry->d_name);
		got = readlink(path, target, sizeof(target) - 1);
		target[got < 0 ? 0 : got] = '\0';
		found += strstr(target, "cryo-checkpoint") != NULL;
	}
	closedir(dir);
	return found;
}

static int seen_in_callback;

static int counts(void *arg)
{
	(void)arg;
	seen_in_callback += open_handles();
	return 0;
}

static void handles(void)
{
	int i, left = 0, more = 0;

	for (i = 0; i < ROUNDS; i++) {
		request(0);
		more += open_handles() != 1;
		result();
		left += open_handles();
	}
	is(more, 0, "a request has one descriptor");
	is(left, 0, "which is closed when it is over");
	begin(CR_THREAD_CONTEXT);
	cr_register_callback(counts, NULL, CR_THREAD_CONTEXT);
	for (i = 0; i < ROUNDS; i++) {
		request(0);
		result();
		left += open_handles();
	}
	is(left, 0, "with callbacks, too");
	is(seen_in_callback, ROUNDS, "and callbacks see that one");
}

/* The worker has it, for as long as it needs it. */
static void closed_at_once(void)
{
	struct stat st;
	int i, whole = 0;

	for (i = 0; i < ROUNDS; i++) {
		unlink("a");
		if (request(0) == 0)
			close((int)handle);
		close(output);
		/* Another one takes the number. */
		close(open("/dev/null", O_RDONLY));
		while (request(0) != 0 || result() == EBUSY)
			pause_ms(5);
		whole += !stat("a", &st) && st.st_size > 4096;
	}
	is(whole, ROUNDS, "a handle that is closed at once is no harm");
}

int main(void)
{
	alarm(280);
	is(job(requests), 0, "requests");
	is(job(leaves), 0, "leaving a section");
	is(job(leaves_blocked), 0, "leaving a section with CR_SIGNUM blocked");
	is(job(pending), 0, "signals that are pending");
	is(job(many_pending), 0, "many of them");
	is(job(no_room), 0, "without room for them");
	is(job(room_again), 0, "with room a moment later");
	is(job(no_descriptors), 0, "without descriptors");
	is(job(ends_at_once), 0, "ending at once");
	is(job(ends_with_ticks), 0, "ending at once, with signals");
	is(job(other_section), 0, "another thread in a section");
	is(job(short_section), 0, "for a short time");
	is(job(thread_context), 0, "callbacks in thread context");
	is(job(prepares), 0, "prepare functions");
	is(job(blocked), 0, "signals that are blocked");
	is(job(handler), 0, "in a handler");
	is(job(fork_in_callback), 0, "a callback that forks");
	is(job(in_callback), 0, "a callback that makes a request");
	is(job(late), 0, "a time limit");
	is(job(handles), 0, "descriptors");
	is(job(closed_at_once), 0, "closing at once");
	return finish();
}
