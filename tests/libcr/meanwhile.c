// SPDX-License-Identifier: GPL-2.0-only
/* What the program does in the middle of something that the library does: forks, and decides for itself who reaps orphans. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <malloc.h>
#include <semaphore.h>
#include <sys/prctl.h>

#include "check.h"

/* ---- another thread forks whenever the library has given memory back */

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *memory);

static __thread bool watched;
static void *volatile given_back;
static pid_t parent;
static sem_t go, done;
static int ends[8], children;

static void fork_elsewhere(void *memory)
{
	given_back = memory;
	watched = false;
	sem_post(&go);
	sem_wait(&done);
	watched = true;
}

void free(void *memory)
{
	if (memory && memory == given_back && getpid() != parent)
		_exit(9);
	__libc_free(memory);
	if (memory && watched)
		fork_elsewhere(memory);
}

/* Moves, always. */
void *realloc(void *memory, size_t size)
{
	void *moved = __libc_malloc(size);
	size_t before = memory ? malloc_usable_size(memory) : 0;

	if (moved && memory) {
		memcpy(moved, memory, before < size ? before : size);
		free(memory);
	}
	return moved;
}

static void *forks(void *arg)
{
	(void)arg;
	for (;;) {
		pid_t pid;

		sem_wait(&go);
		pid = fork();
		if (pid == 0)
			_exit(0);
		if (children < 8)
			ends[children++] = end_of(pid);
		sem_post(&done);
	}
	return NULL;
}

static int callback(void *arg)
{
	(void)arg;
	return 0;
}

static void table_grows(void)
{
	pthread_t thread;
	int i;

	parent = getpid();
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	cr_init();
	for (i = 0; i < 8; i++)
		cr_register_callback(callback, NULL, CR_THREAD_CONTEXT);
	pthread_create(&thread, NULL, forks, NULL);
	watched = true;
	cr_register_callback(callback, NULL, CR_THREAD_CONTEXT);
	watched = false;
	is(children, 1, "a table of callbacks grows, and another thread forks");
	for (i = 0; i < children; i++)
		is(ends[i], 0, "its child frees nothing that has been freed");
}

/* ---- the reaper of orphans */

static int context[2];

static void *restarts(void *arg)
{
	cr_restart_handle_t handle;
	cr_restart_args_t args;

	cr_initialize_restart_args_t(&args);
	args.cr_fd = context[0];
	cr_request_restart(&args, &handle);
	return arg;
}

static int is_reaper(void)
{
	int value = -1;

	prctl(PR_GET_CHILD_SUBREAPER, &value);
	return value;
}

/* cr_restart waits for a context that does not come. */
static void reaper(int before, int meanwhile, int after, const char *what)
{
	pthread_t thread;
	int i;

	prctl(PR_SET_CHILD_SUBREAPER, before, 0, 0, 0);
	if (pipe2(context, O_CLOEXEC))
		return;
	pthread_create(&thread, NULL, restarts, NULL);
	for (i = 0; i < 500 && !(is_reaper() && i > 20); i++)
		pause_ms(10);
	is(is_reaper(), 1, "the reaper of orphans while there is a restart");
	if (meanwhile >= 0)
		prctl(PR_SET_CHILD_SUBREAPER, meanwhile, 0, 0, 0);
	close(context[1]);
	pthread_join(thread, NULL);
	close(context[0]);
	is(is_reaper(), after, what);
}

static void reapers(void)
{
	reaper(0, -1, 0, "not any more, where it was none");
	reaper(1, -1, 1, "still, where it was one");
	reaper(1, 0, 0, "not where the program has ended that meanwhile");
	reaper(0, 0, 0, "nor where it was none");
}

int main(void)
{
	int bad = job(table_grows);

	bad |= job(reapers);
	return finish() || bad;
}
