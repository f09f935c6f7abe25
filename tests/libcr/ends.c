// SPDX-License-Identifier: GPL-2.0-only
/* Where a request begins and ends: with the callbacks of its processes. */
#include "check.h"
#include <sys/mman.h>

enum { ROUNDS = 20 };

static volatile int answer, ended, slow_ms;

static int callback(void *arg)
{
	(void)arg;
	if (cr_checkpoint(answer) != 0 && answer == CR_CHECKPOINT_PERM_FAILURE)
		close(open("through", O_WRONLY | O_CREAT, 0600));
	pause_ms(slow_ms);
	ended++;
	return 0;
}

/* Nobody of them runs when the request is over. */
static void ends_with_callbacks(int context, const char *what)
{
	int early = 0, pending = 0, i;

	cr_init();
	cr_register_callback(callback, NULL, context);
	slow_ms = 5;
	for (i = 0; i < ROUNDS; i++) {
		ended = 0;
		if (checkpoint_self("a"))
			ended = -1;
		early += ended != 1;
		pending += cr_status() != CR_STATE_IDLE;
	}
	is(early, 0, what);
	is(pending, 0, "and cr_status() is idle");
	answer = CR_CHECKPOINT_TEMP_FAILURE;
	for (i = early = 0; i < ROUNDS; i++) {
		ended = 0;
		if (checkpoint_self("a") != CR_ETEMPFAIL)
			ended = -1;
		early += ended != 1;
	}
	is(early, 0, "so it is with those that refuse it");
}

static void thread_context(void)
{
	ends_with_callbacks(CR_THREAD_CONTEXT, "callbacks in thread context have ended when the request has");
}

static void signal_context(void)
{
	ends_with_callbacks(CR_SIGNAL_CONTEXT, "callbacks in signal context have ended when the request has");
}

/* After a restart: this thread is held until they have. */
static void after_restart(void)
{
	int error;

	cr_init();
	slow_ms = 300;
	cr_register_callback(callback, NULL, CR_THREAD_CONTEXT);
	error = checkpoint_self("context");
	is(ended, 1, error == CR_ERESTARTED ? "callbacks have ended when the handle says CR_ERESTARTED" :
					      "callbacks have ended");
	is(cr_status(), CR_STATE_IDLE, "cr_status() then");
	if (error == CR_ERESTARTED)
		is(checkpoint_self("second"), 0, "and another checkpoint right away");
}

static volatile int by_command, by_library;

/* A checkpoint of oneself in the second half of a callback can only be an error. */
static int asks_again(void *arg)
{
	char command[100];
	int result = cr_checkpoint(answer);

	(void)arg;
	by_library = checkpoint_self("inside");
	snprintf(command, sizeof(command), "exec timeout 60 cr_checkpoint -q -f /dev/null %d", (int)getpid());
	by_command = system(command) >> 8;
	return result < 0 && !answer;
}

static void asked_again_after(int error, const char *what)
{
	is(by_library, EBUSY, what);
	is(by_command, EBUSY, "and by the command");
	by_library = by_command = -1;
	answer = 0;
	is(checkpoint_self("later"), error, "when they have ended it is well");
}

static void again(void)
{
	int error;

	cr_init();
	cr_register_callback(asks_again, NULL, CR_THREAD_CONTEXT);
	error = checkpoint_self("context");
	if (error == CR_ERESTARTED) {
		asked_again_after(0, "another checkpoint by a callback after the restart: EBUSY");
		return;
	}
	is(error, 0, "a checkpoint with a callback that asks for another one");
	asked_again_after(0, "another checkpoint by a callback: EBUSY");
}

static void again_after_refusal(void)
{
	cr_init();
	cr_register_callback(asks_again, NULL, CR_THREAD_CONTEXT);
	answer = CR_CHECKPOINT_TEMP_FAILURE;
	is(checkpoint_self("a"), CR_ETEMPFAIL, "a callback that refuses, and asks for another one");
	asked_again_after(0, "another checkpoint by it: EBUSY");
}

/* The request has given it up; the next one does not wait for ever either. */
static void late(void)
{
	cr_checkpoint_args_t args;
	struct timespec before, after;
	char *text = NULL;

	cr_init();
	slow_ms = 12000;
	cr_register_callback(callback, NULL, CR_THREAD_CONTEXT);
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_timeout = 2;
	clock_gettime(CLOCK_MONOTONIC, &before);
	is(checkpoint_with("a", &args, &text), 0, "a callback that goes on for longer than the request may take is no error");
	clock_gettime(CLOCK_MONOTONIC, &after);
	ok(after.tv_sec - before.tv_sec < 11, "and is not waited for");
	ok(text && strstr(text, "its callbacks have not ended in time: callback"), "which is said, with its name");
	free(text);
	text = NULL;
	args.cr_timeout = 0;
	is(checkpoint_with("a", &args, &text), EBUSY, "another request meanwhile");
	ok(text && strstr(text, "callbacks of an earlier checkpoint or restart of it have not ended"), "with the reason");
	while (!ended)
		pause_ms(20);
	slow_ms = 0;
	is(checkpoint_self("a"), 0, "and after it has ended");
}

static volatile int begun_in_section;

/* In a section it cannot be over when the call returns. */
static void begins(int context)
{
	cr_checkpoint_handle_t handle;
	cr_checkpoint_args_t args;
	cr_client_id_t id = cr_init();
	int i;

	cr_register_callback(callback, NULL, context);
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_fd = open("/dev/null", O_WRONLY);
	for (i = 0; i < ROUNDS; i++) {
		cr_enter_cs(id);
		if (cr_request_checkpoint(&args, &handle) != 0)
			break;
		begun_in_section += cr_status() == CR_STATE_PENDING;
		cr_leave_cs(id);
		while (cr_poll_checkpoint(&handle, NULL) < 0 && errno == EINTR)
			;
	}
	is(begun_in_section, ROUNDS, "the process knows of the request when cr_request_checkpoint() returns");
}

static void begins_thread(void)
{
	begins(CR_THREAD_CONTEXT);
}

static void begins_signal(void)
{
	begins(CR_SIGNAL_CONTEXT);
}

/* Of a child that goes on for ever: how it ends after a checkpoint with @args. */
static int end_of_child(int context, cr_checkpoint_args_t *args, int *error)
{
	pid_t pid;

	unlink("ready");
	unlink("through");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		cr_init();
		cr_register_callback(callback, NULL, context);
		close(open("ready", O_WRONLY | O_CREAT, 0600));
		for (;;)
			pause();
	}
	while (access("ready", F_OK))
		pause_ms(10);
	args->cr_target = pid;
	*error = checkpoint_with("a", args, NULL);
	return end_of(pid);
}

static int touches(void *arg)
{
	int told = cr_get_checkpoint_info()->signal;

	(void)arg;
	cr_checkpoint(CR_CHECKPOINT_READY);
	pause_ms(200);
	close(open(told == SIGKILL ? "touched-kill" : "touched", O_WRONLY | O_CREAT, 0600));
	return 0;
}

/* A process that has it for a callback, which is ready. */
static pid_t touching(int context)
{
	pid_t pid;

	unlink("touched");
	unlink("touched-kill");
	unlink("ready");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		cr_init();
		cr_register_callback(touches, NULL, context);
		close(open("ready", O_WRONLY | O_CREAT, 0600));
		for (;;)
			pause();
	}
	while (access("ready", F_OK))
		pause_ms(10);
	return pid;
}

/* BLCR: a positive signal comes when the callbacks have ended, a negative one before they go on. */
static void signal_comes(int signal, bool touched, const char *what)
{
	pid_t pid = touching(CR_THREAD_CONTEXT);
	cr_checkpoint_args_t args;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_target = pid;
	args.cr_signal = signal;
	is(checkpoint_with("a", &args, NULL), 0, what);
	is(end_of(pid), 256 + abs(signal), "the process gets it");
	ok((access("touched", F_OK) == 0) == touched, "its callback has %s", touched ? "ended" : "not gone on");
}

static void signals(void)
{
	signal_comes(SIGTERM, true, "a checkpoint with a signal");
	signal_comes(-SIGKILL, false, "a checkpoint with an early signal");
}

/* So it is with the command's. */
static void command_signal_comes(const char *option, int context, bool stops, const char *touched)
{
	pid_t pid = touching(context);
	int status = 0;
	char text[64];

	snprintf(text, sizeof(text), "exec cr_checkpoint %s -f b %d", option, (int)pid);
	is(system(text), 0, text);
	if (stops) {
		waitpid(pid, &status, WUNTRACED);
		ok(WIFSTOPPED(status), "the process is stopped");
		ok((access("touched", F_OK) == 0) == !!touched, "its callback has %s", touched ? "ended" : "not gone on");
		kill(pid, SIGKILL);
		end_of(pid);
		return;
	}
	ok(end_of(pid) > 256, "the process ends by it");
	ok(access(touched, F_OK) == 0, "its callback has ended");
}

static void command_signals(void)
{
	command_signal_comes("--kill", CR_THREAD_CONTEXT, false, "touched-kill");
	command_signal_comes("--kill", CR_SIGNAL_CONTEXT, false, "touched-kill");
	command_signal_comes("--term", CR_THREAD_CONTEXT, false, "touched");
	command_signal_comes("--stop", CR_THREAD_CONTEXT, true, "touched");
	command_signal_comes("--stop", CR_SIGNAL_CONTEXT, true, "touched");
	command_signal_comes("--early-stop", CR_THREAD_CONTEXT, true, NULL);
}

/*
 * Of a program that has no callback, and so nothing to do after the checkpoint: it does not run between what the context has and the
 * signal.  *at[0] is what it has counted to, *at[1] that it is to end.
 */
static void counting(volatile unsigned long *at)
{
	volatile unsigned long count = 0;
	cr_client_id_t id = cr_init();

	/* A section: the process takes part in its checkpoints from then on. */
	cr_enter_cs(id);
	cr_leave_cs(id);
	at[2] = 1;
	for (;;) {
		if (at[0] != count)
			_exit(9);
		if (at[1])
			_exit(0);
		count++;
		at[0] = count;
	}
}

static void nothing_is_lost(void)
{
	int fd = open("count", O_RDWR | O_CREAT | O_TRUNC, 0600), status, i, good = 0, same = 0;
	volatile unsigned long *at;
	char text[64];
	pid_t pid;

	if (ftruncate(fd, 4096))
		_exit(1);
	at = (volatile unsigned long *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		_exit(1);
	for (i = 0; i < 5; i++) {
		at[0] = at[1] = at[2] = 0;
		pid = fork();
		if (pid == 0)
			counting(at);
		while (!at[2])
			pause_ms(1);
		snprintf(text, sizeof(text), "exec cr_checkpoint --kill -q -f c %d", (int)pid);
		good += system(text) == 0;
		good += end_of(pid) == 256 + SIGKILL;
		at[1] = 1;
		status = system("exec cr_restart -q c");
		same += WIFEXITED(status) && WEXITSTATUS(status) == 0;
		unlink("c");
	}
	is(good, 10, "a program without callbacks is killed by its checkpoint");
	is(same, 5, "and has not run after it");
	close(fd);
}

/* It is not there any more when cr_checkpoint() would return. */
static void for_good(void)
{
	cr_checkpoint_args_t args;
	int error;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	answer = CR_CHECKPOINT_PERM_FAILURE;
	is(end_of_child(CR_SIGNAL_CONTEXT, &args, &error), 256 + SIGKILL, "PERM_FAILURE in signal context kills");
	is(error, CR_EPERMFAIL, "the request fails");
	ok(access("through", F_OK) != 0, "and cr_checkpoint() does not return");
	is(end_of_child(CR_THREAD_CONTEXT, &args, &error), 256 + SIGKILL, "PERM_FAILURE in thread context kills");
	ok(access("through", F_OK) != 0, "and cr_checkpoint() does not return");
}

int main(void)
{
	is(job(thread_context), 0, "thread context");
	is(job(signal_context), 0, "signal context");
	is(job(after_restart), 0, "after a restart");
	is(job(again), 0, "a callback that asks for another checkpoint");
	is(job(again_after_refusal), 0, "one that refuses");
	is(job(late), 0, "a late callback");
	is(job(begins_thread), 0, "the beginning, thread context");
	is(job(begins_signal), 0, "the beginning, signal context");
	is(job(signals), 0, "signals");
	is(job(command_signals), 0, "signals by cr_checkpoint");
	is(job(nothing_is_lost), 0, "without callbacks");
	is(job(for_good), 0, "refused for good");
	return finish();
}
