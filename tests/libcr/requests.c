// SPDX-License-Identifier: GPL-2.0-only
/* The old requests, and those that fail: by what the target is, who asks, where the context goes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <glob.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static volatile int answer, calls;

static int callback(void *arg)
{
	(void)arg;
	calls++;
	cr_checkpoint(answer);
	return 0;
}

/* ---- cr_request() and its like */

static void wait_until_idle(void)
{
	while (cr_status() != CR_STATE_IDLE)
		pause_ms(10);
}

static off_t size_of(const char *file)
{
	struct stat st;

	return stat(file, &st) ? -1 : st.st_size;
}

static void old_requests(void)
{
	struct stat st;
	cr_client_id_t id = cr_init();
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "context.%d", getpid());
	/* In a critical section, or it may be over when this thread gets a processor again. */
	cr_enter_cs(id);
	cr_request();
	is(cr_status(), CR_STATE_PENDING, "cr_request(): cr_status() until it is over");
	cr_leave_cs(id);
	wait_until_idle();
	ok(size_of(name) > 4096, "there is a file context.PID");
	unlink(name);

	fd = open("named", O_WRONLY | O_CREAT, 0600);
	ok(ftruncate(fd, 100 << 20) == 0, "a file that is there already");
	close(fd);
	cr_request_file("named");
	wait_until_idle();
	ok(size_of("named") > 4096 && size_of("named") < 100 << 20, "cr_request_file() replaces what is in it");
	unlink("named");
	cr_request_file("named");
	wait_until_idle();
	ok(!stat("named", &st) && (st.st_mode & 0777) == 0600, "a new one is for its owner alone");

	fd = open("by.fd", O_WRONLY | O_CREAT, 0600);
	cr_request_fd(fd);
	close(fd);
	wait_until_idle();
	ok(size_of("by.fd") > 4096, "cr_request_fd(), with the descriptor closed at once");
	answer = CR_CHECKPOINT_TEMP_FAILURE;
	cr_register_callback(callback, NULL, CR_THREAD_CONTEXT);
	cr_request_file("named");
	wait_until_idle();
	is(calls, 1, "a callback puts it off");
	ok(size_of("named") > 4096, "then the file has the context that it had");
	unlink("named");
	cr_request_file("named");
	wait_until_idle();
	is(access("named", F_OK), -1, "where there was none, there is none");
}

static void request_nowhere(void)
{
	cr_request_file("/nonexistent/file");
}

static void request_no_descriptor(void)
{
	cr_request_fd(-1);
}

static void request_in_no_directory(void)
{
	if (!mkdir("gone", 0700) && !chdir("gone") && !rmdir("../gone"))
		cr_request();
}

static void aborts(void (*call)(void), const char *what)
{
	pid_t pid = fork();

	if (pid == 0) {
		call();
		_exit(0);
	}
	is(end_of(pid), 256 + SIGABRT, what);
}

/* ---- requests that fail */

/* 0, or the errno of the request or of its result. */
static int request_of(pid_t pid, const char *file)
{
	cr_checkpoint_args_t args;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_target = pid;
	return checkpoint_with(file, &args, NULL);
}

/* A process that does @prepare and waits. */
static pid_t target(void (*prepare)(void))
{
	char byte;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		if (prepare)
			prepare();
		if (write(fds[1], "x", 1) != 1)
			_exit(1);
		close(fds[1]);
		for (;;)
			pause();
	}
	close(fds[1]);
	ok(read(fds[0], &byte, 1) == 1, "a process");
	close(fds[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	end_of(pid);
}

static void refuses_for_good(void)
{
	cr_init();
	answer = CR_CHECKPOINT_PERM_FAILURE;
	cr_register_callback(callback, NULL, CR_THREAD_CONTEXT);
}

static int slow(void *arg)
{
	(void)arg;
	pause_ms(2000);
	return 0;
}

static void is_slow(void)
{
	cr_init();
	cr_register_callback(slow, NULL, CR_THREAD_CONTEXT);
}

static void holds_userfaultfd(void)
{
	syscall(SYS_userfaultfd, O_CLOEXEC | 1);	/* for user mode only: anybody may */
}

static void targets(void)
{
	cr_checkpoint_handle_t handle;
	cr_checkpoint_args_t args;
	pid_t pid = target(refuses_for_good);

	is(request_of(pid, "a"), CR_EPERMFAIL, "PERM_FAILURE is CR_EPERMFAIL");
	is(end_of(pid), 256 + SIGKILL, "and its end");
	is(request_of(pid, "a"), ESRCH, "a process that has ended: ESRCH");
	pid = target(holds_userfaultfd);
	is(request_of(pid, "a"), CR_ENOSUPPORT, "one that holds what cannot be saved: CR_ENOSUPPORT");
	end(pid);
	pid = target(NULL);
	is(request_of(pid, "/dev/full"), EINVAL, "a device that contexts cannot go to: EINVAL");
	is(request_of(pid, "a"), 0, "otherwise nothing is wrong with it");
	end(pid);

	pid = target(is_slow);
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_target = pid;
	args.cr_fd = open("b", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	is(cr_request_checkpoint(&args, &handle), 0, "a request that takes a while");
	pause_ms(300);
	is(request_of(pid, "a"), EBUSY, "another one meanwhile: EBUSY");
	fails(cr_reap_checkpoint(&handle), EAGAIN);
	is(cr_poll_checkpoint(&handle, NULL), 1, "the handle has remained valid");
	fails(cr_log_checkpoint(&handle, 0, NULL), EBADF);
	is(cr_poll_checkpoint(&handle, NULL), CR_POLL_CHKPT_ERR_PRE, "a handle that is closed");
	is(errno, EBADF, "is EBADF");
	close(args.cr_fd);
	end(pid);
}

static int forwards(void *arg)
{
	fails(cr_forward_checkpoint(CR_SCOPE_PROC, (pid_t)(long)arg), EPERM);
	return 0;
}

/* As root, of a process that becomes an ordinary user's. */
/* Of files that the process has mapped and that a context takes by reference otherwise. */
static long size_with(pid_t pid, unsigned int flags)
{
	cr_checkpoint_args_t args;
	struct stat st;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_target = pid;
	args.cr_flags = flags;
	ok(!checkpoint_with("dumped", &args, NULL), "a checkpoint with flags %#x", flags);
	return stat("dumped", &st) ? 0 : st.st_size;
}

static void maps_a_file(void)
{
	int fd = open("mapped", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	void *at = fd < 0 || ftruncate(fd, 1 << 20) ? MAP_FAILED :
		   mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		_exit(1);
	memset(at, 'x', 1 << 20);
	close(fd);
}

static void dumps(void)
{
	pid_t pid = target(maps_a_file);
	long none = size_with(pid, 0), executable = size_with(pid, CR_CHKPT_DUMP_EXEC);
	long privates = size_with(pid, CR_CHKPT_DUMP_PRIVATE), shared = size_with(pid, CR_CHKPT_DUMP_SHARED);

	printf("# %ld bytes, with the executable %ld, private %ld, shared %ld\n", none, executable, privates, shared);
	ok(executable > none, "CR_CHKPT_DUMP_EXEC has the executable");
	ok(privates > executable, "CR_CHKPT_DUMP_PRIVATE has libraries, too");
	ok(shared >= none + (1 << 20), "CR_CHKPT_DUMP_SHARED has the shared file");
	ok(size_with(pid, CR_CHKPT_DUMP_ALL) >= privates + shared - none - 4096, "CR_CHKPT_DUMP_ALL has all of it");
	end(pid);
}

static void rights(void)
{
	pid_t others = getppid();

	ok(!setresgid(1000, 1000, 1000) && !setresuid(1000, 1000, 1000), "an ordinary user");
	prctl(PR_SET_DUMPABLE, 1);
	is(request_of(others, "/dev/null"), EPERM, "somebody else's process: EPERM");
	cr_init();
	cr_register_callback(forwards, (void *)(long)others, CR_THREAD_CONTEXT);
	is(request_of(0, "/dev/null"), 0, "one's own process");
}

/* ---- a module that is not there, or another one; a cr_restart that cannot be had, or dies */

static int request_restart(const char *file)
{
	cr_restart_handle_t handle;
	cr_restart_args_t args;

	cr_initialize_restart_args_t(&args);
	args.cr_fd = open(file, O_RDONLY | O_CLOEXEC);
	return cr_request_restart(&args, &handle);
}

static int request_self(void)
{
	cr_checkpoint_handle_t handle;
	cr_checkpoint_args_t args;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_fd = open("a", O_WRONLY | O_CREAT, 0600);
	return cr_request_checkpoint(&args, &handle);
}

static void hide(const char *path)
{
	ok(!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	   !mount("/dev/null", path, NULL, MS_BIND, NULL), "%s is something else", path);
}

static void no_space(void)
{
	ok(!mkdir("small", 0700) && !unshare(CLONE_NEWNS) &&
	   !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	   !mount("none", "small", "tmpfs", 0, "size=16k"), "a small file system");
	is(request_of(0, "small/context"), ENOSPC, "no space for the context: ENOSPC");
}

static void wrong_module(void)
{
	hide("/dev/cryo");
	fails(cr_init(), CR_EVERSION);
	fails(request_self(), CR_EVERSION);
	fails(request_restart("a"), CR_EVERSION);
}

static void no_module(void)
{
	ok(!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	   !mount("none", "/dev", "tmpfs", 0, NULL), "nothing is in /dev");
	fails(cr_init(), ENOSYS);
	fails(request_self(), ENOSYS);
	fails(request_restart("a"), ENOSYS);
}

static void no_tool(void)
{
	hide("/usr/bin/cr_restart");
	fails(request_restart("a"), EACCES);
}

/* The child of whichever thread, which waits for a context that does not come. */
static void *kills_it(void *arg)
{
	int pid = 0;

	while (pid == 0) {
		glob_t found = { .gl_pathc = 0 };
		size_t i;

		pause_ms(100);
		glob("/proc/self/task/*/children", 0, NULL, &found);
		for (i = 0; pid == 0 && i < found.gl_pathc; i++) {
			FILE *file = fopen(found.gl_pathv[i], "r");

			if (file && fscanf(file, "%d", &pid) != 1)
				pid = 0;
			if (file)
				fclose(file);
		}
		globfree(&found);
	}
	pause_ms(300);
	kill(pid, SIGKILL);
	return arg;
}

static void killed(void)
{
	cr_restart_handle_t handle;
	cr_restart_args_t args;
	pthread_t thread;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return;
	cr_initialize_restart_args_t(&args);
	args.cr_fd = fds[0];
	pthread_create(&thread, NULL, kills_it, NULL);
	fails(cr_request_restart(&args, &handle), EIO);
	pthread_join(thread, NULL);
}

int main(void)
{
	bool root = geteuid() == 0;
	int bad = job(old_requests);

	aborts(request_nowhere, "cr_request_file() aborts when there is no such place");
	aborts(request_no_descriptor, "cr_request_fd() when there is no such descriptor");
	aborts(request_in_no_directory, "cr_request() when the directory is gone");
	bad |= job(targets);
	bad |= job(dumps);
	bad |= job(killed);
	if (root) {
		bad |= job(rights);
		bad |= job(no_space);
		bad |= job(wrong_module);
		bad |= job(no_module);
		bad |= job(no_tool);
	}
	return finish() || bad;
}
