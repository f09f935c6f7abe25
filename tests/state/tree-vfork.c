// SPDX-License-Identifier: GPL-2.0-only
/*
 * vfork() and posix_spawn() in progress: parent and child share memory, and the parent sleeps in the
 * kernel until the child executes a program or ends.  A checkpoint waits for that, and neither of them
 * notices.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPAWNERS 2

extern char **environ;

static atomic_int spawned[SPAWNERS], wrong, slow_done;
static atomic_bool end;
static pthread_t threads[SPAWNERS + 1];

static void await(pid_t pid, int with)
{
	int status = 0;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != with) {
		crt_diag("child %d: status %#x: %s", (int)pid, (unsigned int)status, strerror(errno));
		wrong++;
	}
}

/* One after the other, without a pause. */
static void *spawn(void *arg)
{
	atomic_int *count = arg;

	while (!end) {
		char *args[] = { "sh", "-c", "exit 6", NULL };
		pid_t pid;
		int err = posix_spawn(&pid, "/bin/sh", NULL, NULL, args, environ);

		if (err) {
			crt_diag("posix_spawn: %s", strerror(err));
			wrong++;
		} else {
			await(pid, 6);
		}
		(*count)++;
	}
	return NULL;
}

/* Children that sleep for a while before they go: without the C library, which they share. */
static void sleep_raw(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

static void *take_time(void *arg)
{
	(void)arg;
	while (!end) {
		pid_t pid = vfork();

		if (!pid) {
			sleep_raw(700);
			_exit(8);
		}
		if (pid < 0)
			wrong++;
		else
			await(pid, 8);
		slow_done++;
	}
	return NULL;
}

static void setup(void)
{
	for (int i = 0; i < SPAWNERS; i++)
		CRT_SYS(-pthread_create(&threads[i], NULL, spawn, &spawned[i]));
	CRT_SYS(-pthread_create(&threads[SPAWNERS], NULL, take_time, NULL));
}

static void verify(void)
{
	int before[SPAWNERS], before_slow = slow_done;

	for (int i = 0; i < SPAWNERS; i++)
		before[i] = spawned[i];
	for (int i = 0; i < 300 && (slow_done < before_slow + 2 || spawned[0] < before[0] + 2); i++)
		crt_sleep_ms(50);
	for (int i = 0; i < SPAWNERS; i++)
		crt_ok(spawned[i] > before[i], "thread %d goes on spawning (%d so far)", i, spawned[i]);
	crt_ok(slow_done > before_slow, "vfork() goes on (%d so far)", slow_done);
	end = true;
	for (int i = 0; i <= SPAWNERS; i++)
		CRT_SYS(-pthread_join(threads[i], NULL));
	crt_same(wrong, 0, "nothing failed, and each child had its status");
}

const struct crt_test crt_test = {
	.text = "vfork() and posix_spawn() in progress come to their end before the checkpoint",
	.setup = setup,
	.verify = verify,
};
