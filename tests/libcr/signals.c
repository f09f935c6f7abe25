// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who gets the signal of the end, and when, where some go on before that for their callbacks: nobody of the job is left behind
 * --kill and --stop, and nobody who is not part of it gets the signal.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "check.h"

enum { WORKERS = 4, MOST = 400, USER = 1000 };

/* What all have in common. */
static struct {
	volatile int made;		/* workers */
	volatile pid_t workers[MOST];
	volatile int ready, after, value;
	volatile pid_t other, root;
} *shared;

static const char *self;		/* this program */

static void prepare(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		exit(2);
	/* Those whose parents have ended are ours. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	alarm(250);
}

static void wait_for(volatile int *what)
{
	while (!*what)
		pause_ms(5);
}

/* With a half of @after_ms behind the checkpoint. */
static int callback(void *arg)
{
	int result = cr_checkpoint(CR_CHECKPOINT_READY);

	if (result == 0) {
		shared->after = 1;
		pause_ms((long)arg);
	}
	return 0;
}

static char state_of(pid_t pid)
{
	char path[40], text[200], *end;
	int fd, got;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? 0 : (int)read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	end = strrchr(text, ')');
	return end ? end[2] : '-';
}

/* Those of @state, among all that have been made. */
static int workers_that(const char *states)
{
	int i, n = 0;

	for (i = 0; i < shared->made; i++)
		n += strchr(states, state_of(shared->workers[i])) != NULL;
	return n;
}

static void end_workers(void)
{
	int i;

	for (i = 0; i < shared->made; i++)
		kill(shared->workers[i], SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

static int run(const char *format, pid_t pid)
{
	char command[200];
	int status;

	snprintf(command, sizeof(command), format, (int)pid);
	status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- a supervisor, which makes a worker for each that it sees end or stop ---- */

static bool make_worker(void)
{
	pid_t pid;

	if (shared->made == MOST)
		return false;
	pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	shared->workers[shared->made] = pid;
	shared->made++;
	return true;
}

static void supervise(void)
{
	int i;

	cr_init();
	cr_register_callback(callback, (void *)1000L, CR_THREAD_CONTEXT);
	for (i = 0; i < WORKERS; i++)
		make_worker();
	shared->ready = 1;
	for (;;) {
		if (waitpid(-1, NULL, WUNTRACED) < 0)
			pause_ms(5);
		else if (!make_worker())
			for (;;)
				pause();
		pause_ms(10);
	}
}

static pid_t start(void (*work)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		work();
		_exit(0);
	}
	wait_for(&shared->ready);
	return pid;
}

static void kills_supervisor(void)
{
	pid_t pid;

	prepare();
	pid = start(supervise);
	is(run("exec cr_checkpoint --kill -f a %d", pid), 0, "--kill of a supervisor, which has callbacks, and its workers, which have none");
	is(end_of(pid), 256 + SIGKILL, "it is killed");
	ok(shared->made > WORKERS, "it had made others before (%d)", shared->made - WORKERS);
	pause_ms(500);
	is(workers_that("RSDT"), 0, "nobody is left");
	end_workers();
}

static void stops_supervisor(void)
{
	pid_t pid;

	prepare();
	pid = start(supervise);
	is(run("exec cr_checkpoint --stop -f a %d", pid), 0, "--stop of a supervisor and its workers");
	pause_ms(500);
	is(state_of(pid), 'T', "it is stopped");
	ok(shared->made > WORKERS, "it had made others before (%d)", shared->made - WORKERS);
	is(workers_that("T"), shared->made, "all are stopped");
	kill(pid, SIGKILL);
	end_workers();
}

/* ---- one whom the user may not signal ---- */

/* The program as another: with the real user id of root. */
static int as_root(void)
{
	if (setuid(0))
		return 1;
	for (;;)
		pause();
}

static int make_suid(void)
{
	char command[300];

	snprintf(command, sizeof(command), "cp %s suid && chmod 4755 suid && chmod 777 .", self);
	return system(command);
}

/* Who may be traced all the same. */
static void become_user(void)
{
	if (setgid(USER) || setuid(USER) || prctl(PR_SET_DUMPABLE, 1))
		_exit(1);
}

static int starts_other(void *arg)
{
	(void)arg;
	if (cr_checkpoint(CR_CHECKPOINT_READY) == 0) {
		pid_t pid = fork();

		if (pid == 0) {
			execl("./suid", "suid", "as-root", NULL);
			_exit(1);
		}
		shared->other = pid;
		make_worker();
		pause_ms(1500);
	}
	return 0;
}

static void starts_root(void)
{
	become_user();
	cr_init();
	cr_register_callback(starts_other, NULL, CR_THREAD_CONTEXT);
	shared->ready = 1;
	for (;;)
		pause();
}

static void spares_others(void)
{
	pid_t pid;

	prepare();
	is(make_suid(), 0, "a program that becomes root");
	unlink("log");
	pid = start(starts_root);
	is(run("exec setpriv --reuid 1000 --regid 1000 --clear-groups cr_checkpoint --kill -f a %d 2>log", pid), 0,
	   "--kill of one that starts a program of root's meanwhile");
	pause_ms(500);
	is(state_of(pid), 'Z', "it is killed");
	kill(pid, SIGKILL);
	ok(shared->other && strchr("RSD", state_of(shared->other)), "that is not");
	ok(!system("grep -q 'WARNING: processes that have been made since the checkpoint may not get signal 9' log"), "which is said");
	if (shared->other)
		kill(shared->other, SIGKILL);
	end_workers();
	if (system("cat log"))
		printf("# no log\n");
}

/* ---- one that leaves itself out, and whom it makes then ---- */

static int omits(void *arg)
{
	(void)arg;
	cr_checkpoint(CR_CHECKPOINT_OMIT);
	return 0;
}

/* Returns when the callback of its child, which does not, has come behind the checkpoint. */
static void leave_out(int (*childs)(void *))
{
	pid_t child;

	child = fork();
	if (child == 0) {
		cr_init();
		cr_register_callback(childs, (void *)1500L, CR_THREAD_CONTEXT);
		shared->value = 1;
		for (;;)
			pause();
	}
	wait_for(&shared->value);
	cr_init();
	cr_register_callback(omits, NULL, CR_THREAD_CONTEXT);
	shared->other = child;
	shared->ready = 1;
	wait_for(&shared->after);
}

static void leaves_out(void)
{
	leave_out(callback);
	make_worker();
	for (;;)
		pause();
}

static void omitted(void)
{
	pid_t pid;

	prepare();
	pid = start(leaves_out);
	is(run("exec cr_checkpoint --kill -f a %d", pid), 0, "--kill of one that leaves itself out, and its child");
	pause_ms(300);
	is(state_of(pid), 'S', "it goes on");
	is(state_of(shared->other), 'Z', "its child is killed");
	is(shared->made, 1, "it has made another one");
	is(workers_that("S"), 1, "which goes on, too");
	kill(pid, SIGKILL);
	end_workers();
}

/* One number after another. */
static void next_pid(const char *after)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, after, strlen(after)) < 0)
		_exit(1);
	close(fd);
}

/* Its child has made another one, with a lower number: that is found first. */
static void leaves_out_two(void)
{
	setpgid(0, 0);
	leave_out(callback);
	next_pid("20000");
	if (fork() == 0) {
		next_pid("10000");
		make_worker();
		shared->workers[shared->made++] = getpid();
	}
	for (;;)
		pause();
}

static void omitted_below(void)
{
	pid_t pid;

	prepare();
	pid = start(leaves_out_two);
	is(run("exec cr_checkpoint --kill -f a --group %d", pid), 0, "--kill of a group with one that leaves itself out");
	pause_ms(300);
	is(state_of(pid), 'S', "it goes on");
	is(state_of(shared->other), 'Z', "its child is killed");
	is(shared->made, 2, "it has made a child with another one");
	ok(shared->workers[0] < shared->workers[1], "the number of that is lower");
	is(workers_that("S"), 2, "both go on");
	kill(pid, SIGKILL);
	end_workers();
}

static int makes_late(void *arg)
{
	(void)arg;
	if (cr_checkpoint(CR_CHECKPOINT_READY) == 0) {
		shared->after = 1;
		wait_for(&shared->root);
		make_worker();
		pause_ms(1500);
	}
	return 0;
}

static void leaves_out_root(void)
{
	pid_t pid;

	become_user();
	leave_out(makes_late);
	pid = fork();
	if (pid == 0) {
		execl("./suid", "suid", "as-root", NULL);
		_exit(1);
	}
	shared->root = pid;
	for (;;)
		pause();
}

/* Nobody of those that it has made is looked at, or waited for. */
static void omitted_root(void)
{
	pid_t pid;

	prepare();
	is(make_suid(), 0, "a program that becomes root");
	pid = start(leaves_out_root);
	is(run("exec setpriv --reuid 1000 --regid 1000 --clear-groups cr_checkpoint --kill -f a %d 2>log", pid), 0,
	   "--kill of one that leaves itself out, and starts that");
	pause_ms(500);
	ok(system("grep 'may not get signal' log"), "nothing is said of it");
	is(state_of(pid), 'S', "it goes on");
	ok(shared->root && strchr("RSD", state_of(shared->root)), "so does the other one");
	is(state_of(shared->other), 'Z', "its child is killed");
	is(workers_that("RSDT"), 0, "and whom that has made since");
	if (shared->root)
		kill(shared->root, SIGKILL);
	kill(pid, SIGKILL);
	end_workers();
}

/* ---- callbacks that do not end ---- */

static int never_ends(void *arg)
{
	(void)arg;
	cr_checkpoint(CR_CHECKPOINT_READY);
	for (;;)
		pause();
	return 0;
}

static void waits(void)
{
	cr_init();
	cr_register_callback(never_ends, NULL, CR_THREAD_CONTEXT);
	shared->ready = 1;
	for (;;)
		pause();
}

/* How long from the checkpoint to the end of the job, in seconds. */
static long killed_after(const char *command)
{
	struct timespec before, after;
	pid_t pid;

	shared->ready = 0;
	pid = start(waits);
	clock_gettime(CLOCK_MONOTONIC, &before);
	is(run(command, pid), 0, "--kill of one whose callback never ends");
	is(end_of(pid), 256 + SIGKILL, "it is killed");
	clock_gettime(CLOCK_MONOTONIC, &after);
	return after.tv_sec - before.tv_sec;
}

static void never(void)
{
	const char *all = getenv("CRYO_CHECK_ALL");
	long seconds;

	prepare();
	seconds = killed_after("exec timeout 100 cr_checkpoint --kill --time 3 -f a %d");
	ok(seconds >= 3 && seconds < 20, "when its time limit is over");
	if (!all || !*all)
		return;
	seconds = killed_after("exec timeout 100 cr_checkpoint --kill -f a %d");
	ok(seconds >= 59 && seconds < 80, "after 60 seconds");
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "as-root"))
		return as_root();
	self = realpath(argv[0], NULL);
	is(job(kills_supervisor), 0, "a supervisor is killed");
	is(job(stops_supervisor), 0, "a supervisor is stopped");
	is(job(spares_others), 0, "another user's process");
	is(job(omitted), 0, "a process that leaves itself out");
	is(job(omitted_below), 0, "one whose child makes another");
	is(job(omitted_root), 0, "one that starts a program of root's");
	is(job(never), 0, "a callback without end");
	return finish();
}
