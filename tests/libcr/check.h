/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * check.h - conformance tests of libcr: TAP, requests of oneself, and restarts
 *
 * A test program is the job itself.  What it prints goes to a file that a restarted
 * process goes on with, so that the results of both can be counted: see job().
 */
#ifndef LIBCR_CHECK_H
#define LIBCR_CHECK_H

#include <errno.h>
#include <fcntl.h>
#include <libcr.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int check_count;
static int check_failed;

static inline bool ok(bool good, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("%sok %d - ", good ? "" : "not ", ++check_count);
	vprintf(fmt, args);
	printf("\n");
	fflush(stdout);
	va_end(args);
	check_failed += !good;
	return good;
}

static inline void is(long is_now, long wanted, const char *what)
{
	if (!ok(is_now == wanted, "%s", what))
		printf("# is %ld, should be %ld (errno %d)\n", is_now, wanted, errno);
	fflush(stdout);
}

/* The call fails with -1 and @error. */
#define fails(call, error)                                                              \
	do {                                                                            \
		errno = 0;                                                              \
		long result_ = (long)(call);                                            \
		int errno_ = errno;                                                     \
		if (!ok(result_ == -1 && errno_ == (error), "%s fails with %s", #call, #error)) \
			printf("# result %ld, errno %d\n", result_, errno_);            \
	} while (0)

static inline int finish(void)
{
	printf("1..%d\n", check_count);
	fflush(stdout);
	return check_failed ? 1 : 0;
}

static inline void pause_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

/* A checkpoint of this process to @file: 0, or the errno of whatever failed. */
static inline int checkpoint_with(const char *file, cr_checkpoint_args_t *args, char **log)
{
	cr_checkpoint_handle_t handle;
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int error = 0;

	if (fd < 0)
		return errno;
	args->cr_fd = fd;
	if (cr_request_checkpoint(args, &handle)) {
		error = errno;
	} else {
		int result;

		do {
			result = cr_poll_checkpoint_msg(&handle, NULL, log);
		} while (result == 0 || (result == CR_POLL_CHKPT_ERR_PRE && errno == EINTR));
		if (result < 0)
			error = errno;
	}
	close(fd);
	return error;
}

static inline int checkpoint_self(const char *file)
{
	cr_checkpoint_args_t args;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	return checkpoint_with(file, &args, NULL);
}

/* The results in a file, as our own. */
static inline void copy_output(const char *name)
{
	FILE *file = fopen(name, "r");
	char line[1024];

	while (file && fgets(line, sizeof(line), file)) {
		bool good = !strncmp(line, "ok ", 3);
		char *text = strstr(line, " - ");

		line[strcspn(line, "\n")] = '\0';
		if ((good || !strncmp(line, "not ok ", 7)) && text)
			ok(good, "%s", text + 3);
		else if (strncmp(line, "1..", 3))
			printf("%s%s\n", line[0] == '#' ? "" : "# ", line);
	}
	if (file)
		fclose(file);
	fflush(stdout);
}

static inline int end_of(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

/* For cr_restart, up to a NULL. */
static const char *restart_options[4];

static inline int run_restart(const char *context)
{
	const char *argv[8] = { "cr_restart", "--no-truncate" };
	int i, n = 2;
	pid_t pid;

	for (i = 0; restart_options[i]; i++)
		argv[n++] = restart_options[i];
	argv[n] = context;
	pid = fork();
	if (pid == 0) {
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	return end_of(pid);
}

/*
 * Runs @work in a process of its own with its output in a file, and after it ended restarts
 * it from "context", if it made one that way; shows the output, and counts on from there.
 */
static inline int job(void (*work)(void))
{
	int status, again = -1;
	pid_t pid;

	unlink("context");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		/* Opened by the job itself, so that a restart opens it again. */
		int out = open("output", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
		int null = open("/dev/null", O_RDONLY);

		setsid();
		dup2(null, 0);
		dup2(out, 1);
		dup2(out, 2);
		if (out > 2)
			close(out);
		if (null > 2)
			close(null);
		check_count = 0;
		check_failed = 0;
		work();
		exit(finish());
	}
	status = end_of(pid);
	/* Root restarts none that somebody else can have written. */
	if (access("context", F_OK) == 0 && chown("context", geteuid(), getegid()) == 0)
		again = run_restart("context");
	copy_output("output");
	if (again > 0)
		printf("# cr_restart ended with %d\n", again);
	return status ? status : again > 0 ? again : 0;
}

#endif
