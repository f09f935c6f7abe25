// SPDX-License-Identifier: GPL-2.0-only
/* Handles: those of requests that were closed, that were not reaped before a restart, or whose request never began. */
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <cryo/ioctl.h>

#include "check.h"

static volatile int lost_fd = -1;

/* In the place of the C library's: another thread closes the output at the worst moment. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request == CRYO_CKPT_RUN && lost_fd >= 0)
		close(lost_fd);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

static void never_begun(void)
{
	cr_checkpoint_handle_t handle;
	cr_checkpoint_args_t args;

	alarm(30);
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_fd = lost_fd = open("a", O_WRONLY | O_CREAT, 0600);
	fails(cr_request_checkpoint(&args, &handle), EBADF);
}

static int refuses = 1;

static int callback(void *arg)
{
	(void)arg;
	cr_checkpoint(refuses ? CR_CHECKPOINT_TEMP_FAILURE : CR_CHECKPOINT_READY);
	refuses = 0;
	return 0;
}

static void old_text(void)
{
	cr_checkpoint_handle_t handle, again;
	cr_checkpoint_args_t args;
	char text[1000];

	alarm(60);
	cr_init();
	cr_register_callback(callback, NULL, CR_THREAD_CONTEXT);
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_fd = open("/dev/null", O_WRONLY);
	if (cr_request_checkpoint(&args, &handle))
		return;
	cr_wait_checkpoint(&handle, NULL);
	ok(cr_log_checkpoint(&handle, sizeof(text), text) > 0, "the log of a request that has failed");
	pause_ms(100);
	close((int)handle);
	if (cr_request_checkpoint(&args, &again))
		return;
	cr_wait_checkpoint(&again, NULL);
	is(again, handle, "a request whose handle has the same number");
	is(cr_log_checkpoint(&again, sizeof(text), text), 0, "has no text of the other one");
	is(cr_reap_checkpoint(&again), 0, "and is well");
}

/* A launcher that has restarted a job, and is itself restarted before it asks how that went. */
static void launcher(void)
{
	cr_restart_handle_t handle;
	cr_restart_args_t args;
	pid_t pid;
	int result;

	alarm(100);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		setsid();
		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		result = checkpoint_self("job");
		_exit(result == CR_ERESTARTED ? 7 : result ? 1 : 0);
	}
	is(end_of(pid), 0, "a job");
	cr_initialize_restart_args_t(&args);
	args.cr_fd = open("job", O_RDONLY | O_CLOEXEC);
	if (!ok(cr_request_restart(&args, &handle) == 0, "its restart"))
		return;
	close(args.cr_fd);
	cr_wait_restart(&handle, NULL);
	is(end_of(pid), 7, "it has been restarted");
	result = checkpoint_self("context");
	ok(result == 0 || result == CR_ERESTARTED, "a checkpoint of its launcher");
	is(cr_poll_restart(&handle, NULL), pid, "which learns the result of the restart");
}

int main(void)
{
	is(job(never_begun), 0, "a request that never began");
	is(job(old_text), 0, "a handle that was closed");
	is(job(launcher), 0, "a launcher");
	return finish();
}
