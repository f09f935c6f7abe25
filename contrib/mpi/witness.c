// SPDX-License-Identifier: GPL-2.0-only
/*
 * witness - notes what an MPI library does with libcr
 *
 *	mpiexec -n 4 -genv LD_PRELOAD $PWD/witness.so -genv WITNESS_LOG $PWD/log ...
 *
 * Stands between the library and libcr, and changes nothing. Each line of the log is one event, with the
 * time (seconds, the last three places) and the rank: a callback is registered, begins, calls cr_checkpoint(), gets its result, ends. MPICH's callback
 * waits for a semaphore that the main thread posts once the markers of all other ranks have come in; that
 * is noted too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <libcr.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static cr_callback_t theirs;
static volatile int inside;	/* 1 in the callback, before cr_checkpoint() */
static __thread int own;	/* the callback's thread */

/* Opened each time: an open log would be part of the context, and cut back at a restart. */
static void note(const char *format, ...)
{
	const char *path = getenv("WITNESS_LOG"), *rank = getenv("PMI_RANK");
	struct timespec now;
	char line[200];
	va_list args;
	int used, fd;

	fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd < 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	used = snprintf(line, sizeof(line), "%lld.%03ld rank %s ", (long long)now.tv_sec % 1000,
			now.tv_nsec / 1000000, rank ? rank : "?");
	va_start(args, format);
	used += vsnprintf(line + used, sizeof(line) - used - 1, format, args);
	va_end(args);
	line[used++] = '\n';
	if (write(fd, line, used) != used)
		perror("witness");
	close(fd);
}

static const char *library_of(void *address)
{
	Dl_info info;
	const char *slash;

	if (!dladdr(address, &info) || !info.dli_fname)
		return "?";
	slash = strrchr(info.dli_fname, '/');
	return slash ? slash + 1 : info.dli_fname;
}

static int around(void *arg)
{
	int result;

	note("callback begins");
	own = inside = 1;
	result = theirs(arg);
	inside = 0;
	note("callback returns %d", result);
	return result;
}

int cr_register_callback(cr_callback_t function, void *arg, int flags)
{
	int (*real)(cr_callback_t, void *, int) =
		(int (*)(cr_callback_t, void *, int))dlsym(RTLD_NEXT, "cr_register_callback");

	note("%s registers a callback", library_of((void *)function));
	theirs = function;
	return real(around, arg, flags);
}

int cr_checkpoint(int flags)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "cr_checkpoint");
	int result;

	inside = 0;
	note("cr_checkpoint(%d)", flags);
	result = real(flags);
	note("cr_checkpoint is %s", result < 0 ? cr_strerror(-result) : result ? "restart" : "continue");
	return result;
}

int sem_post(sem_t *semaphore)
{
	int (*real)(sem_t *) = (int (*)(sem_t *))dlsym(RTLD_NEXT, "sem_post");

	if (inside && !own && !strncmp(library_of(__builtin_return_address(0)), "libmpi.", 7))
		note("all markers are in");
	return real(semaphore);
}
