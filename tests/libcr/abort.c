// SPDX-License-Identifier: GPL-2.0-only
/* Checkpoints that do not come about: who decides that, who learns what, and nobody is harmed. */
#include "check.h"
#include <sys/resource.h>

static int flags, seen, inner_called, inner_result;

static int inner(void *arg)
{
	(void)arg;
	inner_called++;
	inner_result = cr_checkpoint(CR_CHECKPOINT_READY);
	return 0;
}

static int outer(void *arg)
{
	(void)arg;
	seen = cr_checkpoint(flags);
	return 0;
}

/* What a callback notes when its checkpoint has ended, which may be a moment after we know that. */
static void comes_to(volatile int *noted, int wanted, const char *what)
{
	int left;

	for (left = 3000; *noted != wanted && left > 0; left--)
		pause_ms(10);
	is(*noted, wanted, what);
}

static void say_ready(void)
{
	close(open("ready", O_WRONLY | O_CREAT, 0600));
}

/* Of a child. */
static void await_ready(void)
{
	while (access("ready", F_OK))
		pause_ms(10);
	unlink("ready");
}

static void refuse_in(int context, const char *what)
{
	cr_init();
	cr_register_callback(inner, NULL, context);
	cr_register_callback(outer, NULL, context);
	flags = CR_CHECKPOINT_TEMP_FAILURE;
	is(checkpoint_self("a"), CR_ETEMPFAIL, what);
	comes_to(&seen, -CR_ETEMPFAIL, "the callback gets -CR_ETEMPFAIL");
	is(inner_called, 0, "the callbacks behind it are not called");
	flags = CR_CHECKPOINT_TEMP_FAILURE_CODE(1234);
	is(checkpoint_self("a"), 1234, "with a number of one's own");
	comes_to(&seen, -1234, "which the callback gets, too");
	flags = CR_CHECKPOINT_READY;
	is(checkpoint_self("a"), 0, "and the next one is well");
	comes_to(&seen, 0, "cr_checkpoint() returns 0");
	is(inner_called, 1, "the other callback has been called");
	flags = CR_CHECKPOINT_TEMP_FAILURE | CR_CHECKPOINT_OMIT;
	is(checkpoint_self("a"), 0, "two flags at once count as none");
	comes_to(&seen, -EINVAL, "and are EINVAL");
}

static void temporary(void)
{
	refuse_in(CR_THREAD_CONTEXT, "TEMP_FAILURE in thread context");
}

static void temporary_in_signal(void)
{
	refuse_in(CR_SIGNAL_CONTEXT, "TEMP_FAILURE in signal context");
}

/* The callback in signal context decides; the one in thread context has been ready. */
static void mixed(void)
{
	cr_init();
	cr_register_callback(inner, NULL, CR_THREAD_CONTEXT);
	cr_register_callback(outer, NULL, CR_SIGNAL_CONTEXT);
	flags = CR_CHECKPOINT_TEMP_FAILURE_CODE(77);
	is(checkpoint_self("a"), 77, "TEMP_FAILURE of a thread");
	comes_to(&inner_result, -77, "the process's callback learns the number");
	flags = CR_CHECKPOINT_OMIT;
	is(checkpoint_self("a"), ESRCH, "OMIT of a thread, and nobody is left");
	comes_to(&seen, -CR_EOMITTED, "it gets -CR_EOMITTED");
	comes_to(&inner_result, -CR_EOMITTED, "the other one as well");
}

/* A callback that cannot be called is no checkpoint without it. */
static void not_queued(void)
{
	struct rlimit limit;
	rlim_t before;

	cr_init();
	cr_register_callback(inner, NULL, CR_SIGNAL_CONTEXT);
	getrlimit(RLIMIT_SIGPENDING, &limit);
	before = limit.rlim_cur;
	limit.rlim_cur = 0;
	setrlimit(RLIMIT_SIGPENDING, &limit);
	is(checkpoint_self("a"), EAGAIN, "a signal that cannot be queued (RLIMIT_SIGPENDING)");
	is(inner_called, 0, "its callback is not called");
	limit.rlim_cur = before;
	setrlimit(RLIMIT_SIGPENDING, &limit);
	is(checkpoint_self("a"), 0, "the next one is well");
	comes_to(&inner_called, 1, "it is called");
}

static int bad_value(void *arg)
{
	(void)arg;
	return -1;
}

static void value(void)
{
	cr_init();
	cr_register_callback(bad_value, NULL, CR_THREAD_CONTEXT);
	is(checkpoint_self("a"), CR_ETEMPFAIL, "a callback that returns -1 without cr_checkpoint()");
}

static void permanent(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		cr_init();
		flags = CR_CHECKPOINT_PERM_FAILURE_CODE(99);
		cr_register_callback(outer, NULL, CR_THREAD_CONTEXT);
		say_ready();
		for (;;)
			pause();
	}
	cr_checkpoint_args_t args;

	await_ready();
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_target = pid;
	is(checkpoint_with("a", &args, NULL), 99, "PERM_FAILURE of another process");
	is(end_of(pid), 256 + SIGKILL, "which is killed");
	is(waitpid(-1, NULL, WNOHANG), -1, "nobody is left behind");
}

/* A parent that leaves itself out, and a child that is checkpointed. */
static void omit_parent(void)
{
	cr_checkpoint_args_t args;
	pid_t parent = fork();
	int status;

	if (parent == 0) {
		pid_t child = fork();

		if (child == 0) {
			pause_ms(1000000);
			_exit(0);
		}
		cr_init();
		flags = CR_CHECKPOINT_OMIT;
		cr_register_callback(outer, NULL, CR_THREAD_CONTEXT);
		say_ready();
		while (!seen || access("written", F_OK))
			pause_ms(10);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		_exit(seen == -CR_EOMITTED ? 0 : 1);
	}
	await_ready();
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_TREE;
	args.cr_target = parent;
	is(checkpoint_with("part", &args, NULL), 0, "a tree whose root leaves itself out");
	close(open("written", O_WRONLY | O_CREAT, 0600));
	is(end_of(parent), 0, "the root gets -CR_EOMITTED and goes on");
	status = system("test \"$(cr_info part | grep -c '^process ')\" = 1");
	if (!ok(status == 0, "only the child is in the context"))
		system("cr_info part | sed 's/^/# /'");
}

static int hangs(void *arg)
{
	(void)arg;
	pause_ms(2500);
	return 0;
}

static void timeout(void)
{
	cr_checkpoint_args_t args;
	char *log = NULL;

	cr_init();
	cr_register_callback(hangs, NULL, CR_THREAD_CONTEXT);
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_timeout = 1;
	is(checkpoint_with("a", &args, &log), CR_ETEMPFAIL, "a callback that hangs");
	ok(log && strstr(log, "was not ready for the checkpoint") && strstr(log, "callback"), "it is named");
	printf("# %s", log ? log : "(nothing)\n");
	free(log);
	is(cr_status(), CR_STATE_PENDING, "it is still at it");
	args.cr_timeout = 0;
	is(checkpoint_with("a", &args, NULL), 0, "the next checkpoint waits for it, and is well");
}

static int *volatile nowhere;

static int crashes(void *arg)
{
	(void)arg;
	*nowhere = 0;
	return 0;
}

static int leaves(void *arg)
{
	(void)arg;
	pthread_exit(NULL);
	return 0;
}

static void die_in(int (*callback)(void *), int wanted_error, int wanted_end, const char *what)
{
	cr_checkpoint_args_t args;
	pid_t pid = fork();

	if (pid == 0) {
		cr_init();
		cr_register_callback(callback, NULL, CR_THREAD_CONTEXT);
		say_ready();
		for (;;)
			pause();
	}
	await_ready();
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_target = pid;
	is(checkpoint_with("a", &args, NULL), wanted_error, what);
	if (wanted_end == 256 + SIGKILL)
		kill(pid, SIGKILL);
	is(end_of(pid), wanted_end, "the end of the process");
}

static void deaths(void)
{
	signal(SIGSEGV, SIG_DFL);
	die_in(crashes, ESRCH, 256 + SIGSEGV, "a callback that crashes");
	die_in(leaves, CR_ETEMPFAIL, 256 + SIGKILL, "a callback that ends its thread");
}

int main(void)
{
	is(job(temporary), 0, "temporary failure");
	is(job(temporary_in_signal), 0, "temporary failure in signal context");
	is(job(mixed), 0, "both contexts");
	is(job(not_queued), 0, "a thread that cannot be asked");
	is(job(value), 0, "value of a callback");
	is(job(permanent), 0, "permanent failure");
	is(job(omit_parent), 0, "omission");
	is(job(timeout), 0, "a callback that hangs");
	is(job(deaths), 0, "callbacks that die");
	return finish();
}
