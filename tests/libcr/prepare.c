// SPDX-License-Identifier: GPL-2.0-only
/* What is called while the program still runs: when, how long, and what becomes of the checkpoint. */
#ifdef __cplusplus
#include <atomic>
using std::atomic_int;
#else
#include <stdatomic.h>
#endif

#include "check.h"

static char trace[64];
static atomic_int calls, inside, section_left;
static int answer, milliseconds, result_inside, busy_errno;
static char dest[4096];

static int called(void *arg)
{
	strcat(trace, (const char *)arg);
	return 0;
}

static int callback(void *arg)
{
	strcat(trace, (const char *)arg);
	if (cr_register_prepare(called, arg, 0) < 0)
		busy_errno = errno;
	return 0;
}

/* Goes on when the main thread has been in a critical section. */
static int waits(void *arg)
{
	int i;

	result_inside = cr_checkpoint(CR_CHECKPOINT_READY);
	snprintf(dest, sizeof(dest), "%s", cr_get_checkpoint_info()->dest);
	inside = 1;
	for (i = 0; !section_left && i < 1000; i++)
		pause_ms(10);
	return called(arg);
}

static int answers(void *arg)
{
	(void)arg;
	calls++;
	if (milliseconds)
		pause_ms(milliseconds);
	return answer;
}

static void errors(void)
{
	int i;

	fails(cr_register_prepare(called, NULL, 0), CR_ENOINIT);
	fails(cr_replace_prepare(0, called, NULL, 0), CR_ENOINIT);
	cr_init();
	fails(cr_replace_prepare(0, called, NULL, 0), EINVAL);
	fails(cr_replace_prepare(-1, called, NULL, 0), EINVAL);
	is(cr_register_prepare(NULL, NULL, 0), 0, "the first one has the id 0");
	for (i = 1; cr_register_prepare(NULL, NULL, 0) == i; i++)
		;
	is(i, 32, "there is room for 32");
	fails(cr_register_prepare(called, NULL, 0), ENOSPC);
	is(checkpoint_self("a"), 0, "places that are kept are not called");
}

static void order(void)
{
	cr_checkpoint_handle_t handle;
	cr_checkpoint_args_t args;
	int result;

	cr_init();
	cr_register_callback(callback, (void *)"c", CR_THREAD_CONTEXT);
	cr_register_prepare(called, (void *)"1", 1000);
	cr_register_prepare(waits, (void *)"2", 0);
	cr_register_callback(callback, (void *)"d", CR_THREAD_CONTEXT);
	cr_register_prepare(called, (void *)"3", 1000);
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_fd = open("the.context", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (!ok(cr_request_checkpoint(&args, &handle) == 0, "a request"))
		return;
	while (!inside)
		pause_ms(10);
	is(cr_status(), CR_STATE_PENDING, "cr_status() meanwhile");
	is(cr_tryenter_cs(0), 0, "critical sections can be entered");
	is(cr_leave_cs(0), 0, "and left");
	is(strcmp(trace, "3"), 0, "no callback has been called");
	section_left = 1;
	do {
		result = cr_poll_checkpoint(&handle, NULL);
	} while (result == CR_POLL_CHKPT_ERR_PRE && errno == EINTR);
	is(result, 1, "the checkpoint is made");
	if (!ok(!strcmp(trace, "321dc"), "prepare functions come first, the last one registered before others"))
		printf("# %s\n", trace);
	is(result_inside, -CR_ENOTCB, "cr_checkpoint() is not possible in them");
	ok(strstr(dest, "/the.context") != NULL, "cr_get_checkpoint_info() is");
	is(busy_errno, EBUSY, "cr_register_prepare() in a callback fails with EBUSY");
	ok(cr_get_checkpoint_info() == NULL, "and not outside");
}

static void refusal(void)
{
	int id;

	cr_init();
	cr_register_callback(callback, (void *)"c", CR_THREAD_CONTEXT);
	cr_register_prepare(called, (void *)"1", 0);
	id = cr_register_prepare(answers, NULL, 0);
	answer = 77;
	is(checkpoint_self("a"), 77, "a prepare function that returns 77");
	answer = -1;
	is(checkpoint_self("a"), CR_ETEMPFAIL, "one that returns -1");
	answer = 65536;
	is(checkpoint_self("a"), CR_ETEMPFAIL, "one that returns too much");
	is(strlen(trace), 0, "nothing else is called");
	answer = 0;
	is(checkpoint_self("a"), 0, "and the next one is well");
	is(strcmp(trace, "1c"), 0, "all is called");
	answer = 1;
	is(cr_replace_prepare(id, NULL, NULL, 0), 0, "cr_replace_prepare() by NULL");
	is(checkpoint_self("a"), 0, "takes it away");
	is(cr_replace_prepare(id, answers, NULL, 0), 0, "cr_replace_prepare()");
	is(checkpoint_self("a"), 1, "brings it back");
}

static int checkpoint_in(unsigned int seconds, char **log)
{
	cr_checkpoint_args_t args;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_timeout = seconds;
	return checkpoint_with("a", &args, log);
}

static void late(void)
{
	char *log = NULL;
	int id;

	cr_init();
	cr_register_callback(callback, (void *)"c", CR_THREAD_CONTEXT);
	id = cr_register_prepare(answers, NULL, 200);
	milliseconds = 1500;
	is(checkpoint_in(0, &log), CR_ETEMPFAIL, "one that is late");
	ok(log && strstr(log, "prepare function") && strstr(log, "is not over"), "is named");
	free(log);
	log = NULL;
	is(checkpoint_in(0, &log), CR_ETEMPFAIL, "and not called while it is still running");
	ok(log && strstr(log, "prepare function") && calls == 1, "but named");
	free(log);
	is(strlen(trace), 0, "callbacks are not called");
	pause_ms(2000);
	milliseconds = 0;
	is(checkpoint_in(0, NULL), 0, "and the next one is well");
	milliseconds = 3000;
	cr_replace_prepare(id, answers, NULL, 0);
	log = NULL;
	is(checkpoint_in(1, &log), CR_ETEMPFAIL, "the time of the request is a limit, too");
	ok(log && strstr(log, "prepare function"), "and names it");
	free(log);
}

/* By the tool; and what a restarted process has. */
static void left_out(void)
{
	char number[16];
	int error;
	pid_t pid;

	cr_init();
	cr_register_prepare(answers, NULL, 1000);
	snprintf(number, sizeof(number), "%d", getpid());
	pid = fork();
	if (pid == 0) {
		execlp("cr_checkpoint", "cr_checkpoint", "--callbacks=no", "-f", "b", number, (char *)NULL);
		_exit(127);
	}
	is(end_of(pid), 0, "cr_checkpoint --callbacks=no");
	is(calls, 0, "leaves prepare functions out");
	error = checkpoint_self("context");
	is(calls, 1, "other checkpoints do not");
	if (error != CR_ERESTARTED)
		return;
	/* At once: the library's thread may not have run yet. */
	is(checkpoint_self("a"), 0, "checkpoints of a restarted process");
	is(calls, 2, "are prepared, too");
}

int main(void)
{
	int bad = job(errors);

	bad |= job(order);
	bad |= job(refusal);
	bad |= job(late);
	bad |= job(left_out);
	return finish() || bad;
}
