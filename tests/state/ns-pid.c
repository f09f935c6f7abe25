// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pid namespace in a user namespace, as unshare -Urpf makes it: its first process with a thread, a child of that, what
 * has exited there, and one more namespace inside.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST, CHILD, DEEPER, MEMBERS };

static const char *const names[] = { "first process", "its child", "first process of the namespace inside" };

struct ids {
	pid_t pid, ppid, pgid, sid, tid;
};

static struct {
	atomic_uint round;
	struct {
		struct ids ids;
		pid_t next;		/* of a process that it forks */
		int zombie;		/* status of what has exited */
		atomic_uint told;
	} member[MEMBERS];
} *shared;

static struct ids before[MEMBERS];
static char levels[MEMBERS][128];
static pid_t outside[MEMBERS];

static pid_t zombie;
static atomic_int thread_id;

static void *thread(void *arg)
{
	(void)arg;
	for (;;) {
		atomic_store(&thread_id, (int)syscall(SYS_gettid));
		crt_sleep_ms(10);
	}
	return NULL;
}

static void tell(int who)
{
	int status = 0;
	pid_t pid;

	atomic_store(&thread_id, 0);
	while (who == FIRST && !atomic_load(&thread_id))
		crt_sleep_ms(10);
	shared->member[who].ids = (struct ids){ getpid(), getppid(), getpgrp(), getsid(0), atomic_load(&thread_id) };
	pid = (pid_t)CRT_SYS(fork());
	if (!pid)
		_exit(0);
	CRT_SYS(waitpid(pid, NULL, 0));
	shared->member[who].next = pid;
	if (zombie && waitid(P_PID, (id_t)zombie, &(siginfo_t){ 0 }, WEXITED | WNOWAIT | WNOHANG) == 0)
		status = kill(zombie, 0) == 0;
	shared->member[who].zombie = status;
}

static void live(int who)
{
	for (unsigned int round = 0;;) {
		if (atomic_load(&shared->round) == round) {
			crt_sleep_ms(10);
			continue;
		}
		round = atomic_load(&shared->round);
		tell(who);
		atomic_store(&shared->member[who].told, round);
	}
}

static void start_first(void)
{
	pthread_t id;
	pid_t pid;

	pid = (pid_t)CRT_SYS(fork());
	if (!pid)
		live(CHILD);
	zombie = (pid_t)CRT_SYS(fork());
	if (!zombie)
		_exit(42);
	CRT_SYS(setsid());
	pid = (pid_t)CRT_SYS(syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0));
	if (!pid)
		live(DEEPER);
	CRT_SYS(-pthread_create(&id, NULL, thread, NULL));
	live(FIRST);
}

static void enter(void)
{
	crt_unshare_users(CLONE_NEWPID);
}

/* A line of its status, "NSpid:" are its numbers, the outermost first; false: it is not there. */
static bool status_of(pid_t pid, const char *name, char *buf, size_t size)
{
	char path[64];
	char line[256];
	FILE *file;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	while (file && !found && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name))) {
			snprintf(buf, size, "%.100s", line + strlen(name));
			found = true;
		}
	if (file)
		fclose(file);
	return found;
}

static bool all_told(void)
{
	atomic_fetch_add(&shared->round, 1);
	for (int i = 0; i < MEMBERS; i++)
		for (int wait = 0; atomic_load(&shared->member[i].told) != atomic_load(&shared->round); wait++) {
			if (wait == 1000) {
				crt_diag("%s does not answer", names[i]);
				return false;
			}
			crt_sleep_ms(10);
		}
	return true;
}

static pid_t child_of(pid_t parent, const char *tail)
{
	char text[128];

	for (pid_t pid = parent; pid < parent + 200; pid++)
		if (status_of(pid, "PPid:", text, sizeof(text)) && atoi(text) == parent &&
		    status_of(pid, "NSpid:", text, sizeof(text)) && strstr(text, tail))
			return pid;
	crt_die("no child of %d is called %s", (int)parent, tail);
}

static void setup(void)
{
	shared = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	enter();
	outside[FIRST] = (pid_t)CRT_SYS(fork());
	if (!outside[FIRST])
		start_first();
	if (!all_told())
		crt_die("the processes do not come up");
	outside[CHILD] = child_of(outside[FIRST], "\t2\n");
	outside[DEEPER] = child_of(outside[FIRST], "\t1\n");
	for (int i = 0; i < MEMBERS; i++) {
		before[i] = shared->member[i].ids;
		status_of(outside[i], "NSpid:", levels[i], sizeof(levels[i]));
	}
}

static void verify(void)
{
	char text[128];
	pid_t pid;

	if (!crt_ok(all_told(), "all processes live"))
		return;
	for (int i = 0; i < MEMBERS; i++) {
		struct ids ids = shared->member[i].ids;

		crt_same(ids.pid, before[i].pid, "%s: pid", names[i]);
		crt_same(ids.ppid, before[i].ppid, "%s: parent", names[i]);
		crt_same(ids.pgid, before[i].pgid, "%s: process group", names[i]);
		crt_same(ids.sid, before[i].sid, "%s: session", names[i]);
		crt_same(ids.tid, before[i].tid, "%s: thread", names[i]);
		*text = 0;
		status_of(outside[i], "NSpid:", text, sizeof(text));
		crt_same_str(text, levels[i], "%s: in all namespaces", names[i]);
	}
	crt_same(shared->member[FIRST].zombie, 1, "what had exited waits for its parent");
	pid = (pid_t)CRT_SYS(fork());
	if (!pid)
		_exit(getppid() == 0 && getpid() > 2 ? 17 : 1);
	int status = 0;
	CRT_SYS(waitpid(pid, &status, 0));
	crt_same(WEXITSTATUS(status), 17, "the next child is born in the namespace");
	kill(outside[FIRST], SIGKILL);
	crt_same(waitpid(outside[FIRST], &status, 0), outside[FIRST], "the first process can be waited for");
	crt_ok(kill(outside[CHILD], 0) != 0, "and takes the others with it");
}

const struct crt_test crt_test = {
	.text = "a pid namespace",
	.setup = setup,
	.verify = verify,
};
