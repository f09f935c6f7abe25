// SPDX-License-Identifier: GPL-2.0-only
/* Restarts that a program asks for: of a job that says by its exit status what it has found. */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "check.h"
#include "foreign.h"

enum { WELL = 7, WRONG_REQUESTER, WRONG_PARENT, WRONG_SOURCE };

static volatile int restarted;
static pid_t requester;
static char source[4096];
static int at_parents_end;	/* signal of the job */

/* ---- the job */

static int callback(void *arg)
{
	int result = cr_checkpoint(CR_CHECKPOINT_READY);

	(void)arg;
	if (result > 0) {
		requester = cr_get_restart_info()->requester;
		snprintf(source, sizeof(source), "%s", cr_get_restart_info()->src);
		restarted = result;
	}
	return 0;
}

static int find_out(void)
{
	FILE *file = fopen("requester", "r");
	int tries, pid = 0;

	if (!file || fscanf(file, "%d", &pid) != 1 || restarted != pid || requester != pid)
		return WRONG_REQUESTER;
	for (tries = 0; getppid() != pid && tries < 500; tries++)
		pause_ms(10);
	if (getppid() != pid)
		return WRONG_PARENT;
	return strlen(source) > 8 && !strcmp(source + strlen(source) - 8, "/context") ? WELL : WRONG_SOURCE;
}

static void job_main(void)
{
	int error, data = open("data/file", O_RDWR | O_CREAT, 0600);
	int null = open("/dev/null", O_RDWR);

	setsid();
	for (error = 0; error < 3; error++)
		dup2(null, error);
	prctl(PR_SET_PDEATHSIG, at_parents_end);
	if (data < 0 || cr_init() < 0 || cr_register_callback(callback, NULL, CR_THREAD_CONTEXT) < 0)
		_exit(1);
	error = checkpoint_self("context");
	if (error != CR_ERESTARTED)
		_exit(error ? 2 : 0);
	while (!restarted)
		pause_ms(10);
	while (!access("stay", F_OK))
		pause_ms(10);
	_exit(find_out());
}

static pid_t make_context(void)
{
	pid_t pid = fork();

	if (pid == 0)
		job_main();
	is(end_of(pid), 0, "a context");
	return pid;
}

/* ---- requests */

static int request(cr_restart_args_t *args, const char *file, cr_restart_handle_t *handle)
{
	int error, fd = open(file, O_RDONLY | O_CLOEXEC);
	int result;

	args->cr_fd = fd;
	result = cr_request_restart(args, handle);
	error = errno;
	close(fd);
	errno = error;
	return result;
}

static int poll_it(cr_restart_handle_t *handle, char **text)
{
	int result;

	do {
		result = cr_poll_restart_msg(handle, NULL, text);
	} while (result == CR_POLL_RSTRT_ERR_PRE && errno == EINTR);
	return result;
}

/* Pid, or -errno of cr_request_restart() or of the result. */
static int restart_with(cr_restart_args_t *args, char **text)
{
	cr_restart_handle_t handle;
	int result = request(args, "context", &handle);

	if (result == 0)
		result = poll_it(&handle, text);
	return result < 0 ? -errno : result;
}

static void bad_arguments(void)
{
	union {
		struct cr_rstrt_relocate relocate;
		char room[CR_RSTRT_RELOCATE_SIZE(1)];
	} paths;
	cr_restart_handle_t handle;
	cr_restart_args_t args;
	int fd = open("no.context", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (write(fd, "This is not a context.", 22) != 22)
		return;
	lseek(fd, 0, SEEK_SET);
	cr_initialize_restart_args_t(&args);
	fails(cr_request_restart(&args, &handle), EINVAL);	/* no descriptor */
	args.cr_fd = fd;
	fails(cr_request_restart(&args, &handle), EINVAL);	/* no context */
	args.cr_version = 2;
	fails(cr_request_restart(&args, &handle), EINVAL);
	args.cr_version = CR_RESTART_ARGS_VERSION;
	args.cr_flags = 0x100;
	fails(cr_request_restart(&args, &handle), EINVAL);
	args.cr_flags = 0;
	args.cr_signal = 1000;
	fails(cr_request_restart(&args, &handle), EINVAL);
	args.cr_signal = 0;
	args.cr_relocate = &paths.relocate;
	paths.relocate.count = CR_MAX_RSTRT_RELOC + 1;
	fails(cr_request_restart(&args, &handle), EINVAL);
	paths.relocate.count = 1;
	paths.relocate.path[0].oldpath = "relative";
	paths.relocate.path[0].newpath = "/absolute";
	fails(cr_request_restart(&args, &handle), EINVAL);
	args.cr_relocate = NULL;
	args.cr_fd = open("no.context", O_WRONLY);
	fails(cr_request_restart(&args, &handle), EBADF);
	args.cr_fd = open(".", O_RDONLY | O_DIRECTORY);
	fails(cr_request_restart(&args, &handle), EISDIR);
	close(fd);
}

static void bad_handles(void)
{
	cr_restart_handle_t handle;
	struct timeval now = { 0, 0 };
	char text[16];
	int fds[2];

	if (pipe(fds))
		return;
	handle = (cr_restart_handle_t)fds[0];
	fails(cr_reap_restart(&handle), ENOTTY);
	fails(cr_log_restart(&handle, sizeof(text), text), ENOTTY);
	is(cr_poll_restart(&handle, &now), 0, "cr_poll_restart() when the time is over");
	close(fds[1]);
	is(cr_poll_restart(&handle, NULL), CR_POLL_RSTRT_ERR_PRE, "cr_poll_restart() of a pipe");
	is(errno, ENOTTY, "fails with ENOTTY");
	ok(fcntl(fds[0], F_GETFD) >= 0, "a descriptor that is no handle stays open");
	handle = 999;
	fails(cr_wait_restart(&handle, NULL), EBADF);
	fails(cr_reap_restart(&handle), EBADF);
	close(fds[0]);
}

static void asynchronous(void)
{
	cr_restart_handle_t handle;
	cr_restart_args_t args;
	char *text = NULL;

	cr_initialize_restart_args_t(&args);
	args.cr_flags |= CR_RSTRT_ASYNC_ERR;
	is(request(&args, "no.context", &handle), 0, "CR_RSTRT_ASYNC_ERR: no error at once");
	is(poll_it(&handle, &text), CR_POLL_RSTRT_ERR_POST, "but later");
	is(errno, EINVAL, "of the same number");
	ok(text && strstr(text, "Restart failed"), "with a text");
	free(text);
}

/* Step by step; the handle is a descriptor like any other. */
static void by_handle(pid_t pid)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct timeval now = { 0, 0 }, long_time = { 100, 0 };
	cr_restart_handle_t handle;
	cr_restart_args_t args;
	int result, reaper = -1;
	struct pollfd wait;
	char text[512] = "?";

	cr_initialize_restart_args_t(&args);
	if (!ok(request(&args, "context", &handle) == 0, "cr_request_restart()"))
		return;
	wait = (struct pollfd){ .fd = (int)handle, .events = POLLIN };
	if (!epoll_ctl(epoll, EPOLL_CTL_ADD, (int)handle, &event)) {
		result = cr_wait_restart(&handle, &now);
		ok(result == 0 || result == 1, "cr_wait_restart() without waiting");
		if (result == 0)
			fails(cr_reap_restart(&handle), EAGAIN);
	}
	while (cr_wait_restart(&handle, &long_time) < 0 && errno == EINTR)
		;
	ok(long_time.tv_sec < 100, "cr_wait_restart() leaves what is left of the time");
	is(poll(&wait, 1, 0), 1, "poll() of the handle");
	is(epoll_wait(epoll, &event, 1, 0), 1, "epoll of the handle");
	text[0] = 0;
	ok(cr_log_restart(&handle, sizeof(text), text) >= 0 && (!text[0] || strstr(text, "--restore-pgid")),
	   "cr_log_restart() has nothing but whose process group it is");
	is(cr_reap_restart(&handle), pid, "cr_reap_restart() returns the pid");
	is(fcntl((int)handle, F_GETFD), -1, "and closes the handle");
	is(end_of(pid), WELL, "the job is our child, and knows who has restarted it");
	prctl(PR_GET_CHILD_SUBREAPER, &reaper);
	is(reaper, 0, "and other orphans do not come to us");
	close(epoll);
}

static void by_poll(pid_t pid)
{
	struct timeval long_time = { 100, 0 };
	cr_restart_handle_t handle;
	cr_restart_args_t args;

	cr_initialize_restart_args_t(&args);
	is(request(&args, "context", &handle), 0, "cr_request_restart() again");
	is(cr_poll_restart(&handle, &long_time), pid, "cr_poll_restart() returns the pid");
	is(end_of(pid), WELL, "and all is well");
	is(waitpid(-1, NULL, __WALL), -1, "no process of the restarts is left to wait for");
	is(errno, ECHILD, "as there is no child");
	is(request(&args, "context", &handle), 0, "a restart that nobody asks about");
	close((int)handle);
	pause_ms(100);
	while (waitpid(pid, NULL, WNOHANG) != pid)
		pause_ms(10);
	ok(true, "does no harm");
}

static void ids(pid_t pid)
{
	cr_restart_args_t args;
	char *text = NULL;
	int stay = open("stay", O_WRONLY | O_CREAT, 0600);
	int other;

	close(stay);
	cr_initialize_restart_args_t(&args);
	is(restart_with(&args, NULL), pid, "a job that stays");
	is(restart_with(&args, &text), -EBUSY, "its pid is in use: EBUSY");
	ok(text && strstr(text, "in use"), "with a text");
	free(text);
	args.cr_flags = 0;
	other = restart_with(&args, NULL);
	ok(other > 0 && other != pid, "without CR_RSTRT_RESTORE_PID it gets another one");
	kill(other, SIGKILL);
	is(end_of(other), 256 + SIGKILL, "a child, too");
	kill(pid, SIGKILL);
	is(end_of(pid), 256 + SIGKILL, "as the first one is");
	cr_initialize_restart_args_t(&args);
	args.cr_flags |= CR_RSTRT_RESTORE_PGID | CR_RSTRT_RESTORE_SID;
	is(restart_with(&args, NULL), pid, "with CR_RSTRT_RESTORE_SID");
	ok(getsid(pid) == pid && getpgid(pid) == pid, "it has its session and group");
	kill(pid, SIGKILL);
	end_of(pid);
	args.cr_flags = CR_RSTRT_RESTORE_PID;
	args.cr_signal = SIGTERM;
	is(restart_with(&args, NULL), pid, "with cr_signal");
	is(end_of(pid), 256 + SIGTERM, "it gets the signal");
	unlink("stay");
}

static void files(pid_t pid)
{
	struct cr_rstrt_relocate *relocate = (struct cr_rstrt_relocate *)malloc(CR_RSTRT_RELOCATE_SIZE(1));
	char *here = getcwd(NULL, 0);
	char before[4200], after[4200];
	cr_restart_args_t args;
	char *text = NULL;

	cr_initialize_restart_args_t(&args);
	if (!relocate || !here || rename("data", "a=b"))
		return;
	is(restart_with(&args, &text), -ENOENT, "a file is missing: ENOENT");
	if (!ok(text && strstr(text, "data/file"), "with a text that names it"))
		printf("# %s\n", text ? text : "no text");
	free(text);
	snprintf(before, sizeof(before), "%s/data", here);
	snprintf(after, sizeof(after), "%s/a=b", here);
	relocate->count = 1;
	relocate->path[0].oldpath = before;
	relocate->path[0].newpath = after;
	args.cr_relocate = relocate;
	is(restart_with(&args, NULL), pid, "cr_relocate");
	is(end_of(pid), WELL, "and all is well");
	if (rename("a=b", "data"))
		return;
	free(relocate);
	free(here);
}

static void damaged(void)
{
	cr_restart_args_t args;
	struct stat now;
	cr_restart_handle_t handle;

	cr_initialize_restart_args_t(&args);
	if (stat("context", &now) || truncate("context", now.st_size - 100))
		return;
	fails(request(&args, "context", &handle), EINVAL);
}

static void other_architecture(void)
{
	cr_restart_args_t args;
	struct stat now;
	cr_restart_handle_t handle;
	int fd = open("context", O_RDWR | O_CLOEXEC);
	char *bytes;

	if (fd < 0 || fstat(fd, &now))
		return;
	bytes = (char *)mmap(NULL, (size_t)now.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return;
	make_foreign(bytes, (size_t)now.st_size);
	munmap(bytes, (size_t)now.st_size);
	cr_initialize_restart_args_t(&args);
	fails(request(&args, "context", &handle), CR_EBADARCH);
}

static void death_signal(void)
{
	cr_restart_args_t args;
	char *text = NULL;

	at_parents_end = SIGUSR1;
	make_context();
	cr_initialize_restart_args_t(&args);
	is(restart_with(&args, &text), -CR_ENOSUPPORT, "a job with PR_SET_PDEATHSIG: CR_ENOSUPPORT");
	ok(text && strstr(text, "PR_SET_PDEATHSIG"), "with a text");
	free(text);
}

int main(void)
{
	FILE *file = fopen("requester", "w");
	pid_t pid;

	fprintf(file, "%d\n", getpid());
	fclose(file);
	mkdir("data", 0700);
	bad_arguments();
	bad_handles();
	asynchronous();
	pid = make_context();
	by_handle(pid);
	by_poll(pid);
	ids(pid);
	files(pid);
	damaged();
	death_signal();
	other_architecture();
	return finish();
}
