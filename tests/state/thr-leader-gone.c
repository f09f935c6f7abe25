// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process whose main thread has ended while others live: they go on, under their ids, the main thread is
 * a zombie among them, and the end of the last one is the end of the process.  It is so for the
 * first process and for those below it, and the child of one of them is not told that its parent has died.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 3

static struct {
	atomic_int ready, end;
	pid_t tids[THREADS];
	atomic_int beats[THREADS];
	pid_t pid_seen;
	atomic_int child_beats;
	pid_t child;
	pid_t last;		/* the process that ends thread by thread */
	pid_t group;		/* the one that calls exit_group() */
} *shared;

static pid_t tid_of(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static void *beat(void *arg)
{
	long number = (long)arg;

	shared->tids[number] = tid_of();
	shared->ready++;
	while (!shared->end) {
		shared->pid_seen = getpid();
		shared->beats[number]++;
		crt_sleep_ms(10);
	}
	syscall(SYS_exit, 5);
	return NULL;
}

/* It is a child of a thread that lives: only the end of that one is to be told. */
static void *parent(void *arg)
{
	pid_t pid = (pid_t)CRT_SYS(fork());

	if (!pid) {
		CRT_SYS(prctl(PR_SET_PDEATHSIG, SIGTERM));
		shared->ready++;
		for (;;) {
			shared->child_beats++;
			crt_sleep_ms(10);
		}
	}
	shared->child = pid;
	return beat(arg);
}

static void lose_leader(void)
{
	pthread_t id;

	for (long i = 0; i < THREADS; i++)
		CRT_SYS(-pthread_create(&id, NULL, i ? beat : parent, (void *)i));
	CRT_SYS(prctl(PR_SET_NAME, "gone"));
	syscall(SYS_exit, 7);
}

static void *exit_group_later(void *arg)
{
	(void)arg;
	shared->ready++;
	while (!shared->end)
		crt_sleep_ms(10);
	_exit(9);
}

static pid_t start(void (*run)(void))
{
	pid_t pid = (pid_t)CRT_SYS(fork());

	if (!pid)
		run();
	return pid;
}

static void lose_leader_too(void)
{
	pthread_t id;

	CRT_SYS(-pthread_create(&id, NULL, exit_group_later, NULL));
	syscall(SYS_exit, 3);
}

/* Field of the process's stat, by number as in proc(5), of 3 and more. */
static void stat_field(pid_t pid, int field, char *value)
{
	char path[64], line[1024], *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	crt_slurp(path, line, sizeof(line));
	at = strrchr(line, ')') + 2;
	for (; field > 3; field--)
		at = strchr(at, ' ') + 1;
	snprintf(value, 32, "%.*s", (int)strcspn(at, " "), at);
}

static int tasks_of(pid_t pid)
{
	char path[64];
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n - 2;
}

static void await_zombie(pid_t pid)
{
	char state[32] = "";

	for (int i = 0; i < 1000 && state[0] != 'Z'; i++) {
		crt_sleep_ms(10);
		stat_field(pid, 3, state);
	}
	if (state[0] != 'Z')
		crt_die("the main thread of %d does not exit", (int)pid);
}

static pid_t own_pid, own_tid;

static void check_process(pid_t pid, int threads, const char *what)
{
	char value[32], path[64], text[32] = "";

	stat_field(pid, 3, value);
	crt_same_str(value, "Z", "%s: the main thread is a zombie", what);
	stat_field(pid, 20, value);
	crt_same(atoi(value), threads, "%s: threads", what);
	crt_same(tasks_of(pid), threads, "%s: /proc/PID/task", what);
	if (pid == own_pid)
		return;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	crt_slurp(path, text, sizeof(text));
	if (threads == THREADS + 1)
		crt_same_str(text, "gone\n", "%s: name of the main thread", what);
}

static void verify_rest(void)
{
	int before[THREADS], child_before = shared->child_beats, status = 0;

	crt_same(getpid(), own_pid, "pid");
	crt_same(tid_of(), own_tid, "id of the thread that is left");
	check_process(getpid(), 2, "this process");
	check_process(shared->last, THREADS + 1, "its child");
	check_process(shared->group, 2, "its other child");
	for (int i = 0; i < THREADS; i++)
		before[i] = shared->beats[i];
	crt_sleep_ms(500);
	for (int i = 0; i < THREADS; i++) {
		char path[64];

		crt_ok(shared->beats[i] > before[i], "thread %d of the child runs", i);
		snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)shared->last, (int)shared->tids[i]);
		crt_ok(!access(path, F_OK), "under its id");
	}
	crt_same(shared->pid_seen, shared->last, "getpid() there");
	crt_ok(shared->child_beats > child_before, "its own child has not been told that it is dead");
	crt_same(waitpid(-1, &status, WNOHANG), 0, "both are alive");
	shared->end = 1;
	crt_same(waitpid(shared->last, &status, 0), shared->last, "the last thread ends the process");
	crt_ok(WIFEXITED(status) && WEXITSTATUS(status) == 5, "with its status (%#x)", (unsigned int)status);
	crt_same(waitpid(shared->group, &status, 0), shared->group, "exit_group() ends the other one");
	crt_ok(WIFEXITED(status) && WEXITSTATUS(status) == 9, "with the status of that (%#x)", (unsigned int)status);
	crt_sleep_ms(100);
	kill(shared->child, SIGKILL);
}

static void *rest(void *arg)
{
	(void)arg;
	own_tid = tid_of();
	crt_wait_go();
	verify_rest();
	printf("1..%d\n", 19 + 2 * THREADS);
	fflush(stdout);
	_exit(0);
}

static void setup(void)
{
	shared = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	own_pid = getpid();
	shared->last = start(lose_leader);
	shared->group = start(lose_leader_too);
	while (shared->ready < THREADS + 2)
		crt_sleep_ms(10);
	await_zombie(shared->last);
	await_zombie(shared->group);
}

static void wait_here(void)
{
	pthread_t id;

	CRT_SYS(-pthread_create(&id, NULL, rest, NULL));
	syscall(SYS_exit, 0);
}

static void verify(void)
{
}

const struct crt_test crt_test = {
	.text = "a process whose main thread has ended goes on without it",
	.setup = setup,
	.wait = wait_here,
	.verify = verify,
	.settle_ms = 300,
};
