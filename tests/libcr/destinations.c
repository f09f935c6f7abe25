// SPDX-License-Identifier: GPL-2.0-only
/* Where a context may be written to, and how the log of a request is read. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/stat.h>

#include "check.h"

static int request_to(int fd, pid_t target, unsigned int flags, cr_checkpoint_handle_t *handle)
{
	cr_checkpoint_args_t args;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_target = target;
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_fd = fd;
	args.cr_flags = flags;
	return cr_request_checkpoint(&args, handle);
}

static int whole(int fd, pid_t target)
{
	cr_checkpoint_handle_t handle;
	int result;

	if (request_to(fd, target, 0, &handle))
		return errno;
	do {
		result = cr_poll_checkpoint(&handle, NULL);
	} while (result == 0 || (result < 0 && errno == EINTR));
	return result > 0 ? 0 : errno;
}

static void destinations(pid_t target)
{
	cr_checkpoint_handle_t handle;
	int fd = open("a", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat now;

	fails(request_to(CR_DEST_CWD, target, 0, &handle), EINVAL);
	fails(request_to(-1, target, 0, &handle), EINVAL);
	fails(request_to(directory, target, 0, &handle), EBADF);
	link("a", "b");
	is(whole(fd, target), 0, "a file with two names");
	ok(!system("cr_info a >/dev/null && cr_info b >/dev/null"), "has the context");
	ftruncate(fd, 0);
	lseek(fd, 0, SEEK_SET);
	unlink("a");
	unlink("b");
	is(whole(fd, target), 0, "a file without a name");
	ok(!fstat(fd, &now) && now.st_size > 0, "has it, too");
	close(fd);
	close(directory);
}

/* A request that fails for a device that is open, whose log is asked for in pieces. */
static void logs(void)
{
	int ready[2] = { -1, -1 };
	pid_t target = pipe(ready) ? -1 : fork();

	cr_checkpoint_handle_t handle;
	char whole_text[1000] = "", text[1000];
	struct timeval now = { 0, 0 };
	int fd = open("c", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int size;

	if (target == 0) {
		open("/dev/kmsg", O_RDONLY);
		write(ready[1], "", 1);
		for (;;)
			pause();
	}
	read(ready[0], text, 1);
	fails(request_to(fd, 0x3fffffff, CR_CHKPT_ASYNC_ERR, &handle), ESRCH);
	is(request_to(fd, target, CR_CHKPT_ASYNC_ERR, &handle), 0, "what cannot be saved is told later");
	is(cr_wait_checkpoint(&handle, NULL), 1, "cr_wait_checkpoint() of one that has ended");
	is(cr_wait_checkpoint(&handle, &now), 1, "... without waiting");
	size = cr_log_checkpoint(&handle, 0, NULL);
	ok(size > 1, "cr_log_checkpoint() with no room: the bytes that it takes");
	is(cr_log_checkpoint(&handle, sizeof(whole_text), whole_text), size, "... with room: the same");
	is(strlen(whole_text) + 1, size, "... which is the text and its end");
	memset(text, 'x', sizeof(text));
	is(cr_log_checkpoint(&handle, 5, text), size, "... with too little room: the same");
	ok(strlen(text) == 4 && !strncmp(text, whole_text, 4), "... and as much of it as there is room for");
	ok(text[5] == 'x', "... no more");
	fails(cr_reap_checkpoint(&handle), CR_ENOSUPPORT);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	close(fd);
}

int main(void)
{
	pid_t target = fork();

	if (target == 0)
		for (;;)
			pause();
	setvbuf(stdout, NULL, _IOLBF, 0);
	destinations(target);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	logs();
	return finish();
}
