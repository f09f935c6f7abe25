// SPDX-License-Identifier: GPL-2.0-only
/* What a program does that knows nothing of the library's threads and signal. */
#include "check.h"
#include <sys/prctl.h>
#include <sys/syscall.h>

static volatile int calls, foreign, last_info;

static int callback(void *arg)
{
	(void)arg;
	cr_checkpoint(CR_CHECKPOINT_READY);
	calls++;
	return 0;
}

static void handler(int signal)
{
	(void)signal;
	foreign++;
}

static void handler_with_info(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	last_info = info->si_value.sival_int;
}

/* The program sets the action of all signals, by sigaction(2) as it is; of the library's, too. */
static void set_all(void (*action)(int))
{
	for (int i = 1; i < 65; i++)
		signal(i, i == SIGCHLD ? SIG_DFL : action);
}

static void taken(void (*action)(int), const char *what)
{
	int error;

	cr_init();
	cr_register_callback(callback, NULL, CR_SIGNAL_CONTEXT);
	set_all(action);
	alarm(0);
	calls = foreign = 0;
	error = checkpoint_self("context");
	if (error == CR_ERESTARTED) {
		is(calls, 1, "and after the restart");
		calls = 0;
		is(checkpoint_self("again"), 0, "a checkpoint after it");
	} else {
		is(error, 0, what);
	}
	is(calls, 1, "the callback has run");
	is(foreign, 0, "and no handler of the program's own");
	foreign = 0;
	kill(getpid(), CR_SIGNUM);
	pause_ms(20);
	is(foreign, action == handler, "a signal that is not the library's goes to the program's handler, if it has one");
}

static void by_default(void)
{
	taken(SIG_DFL, "a checkpoint with SIG_DFL for CR_SIGNUM");
}

static void ignored(void)
{
	taken(SIG_IGN, "a checkpoint with SIG_IGN for CR_SIGNUM");
}

static void handled(void)
{
	taken(handler, "a checkpoint with a handler for CR_SIGNUM");
}

static void handled_with_info(void)
{
	struct sigaction action;

	cr_init();
	cr_register_callback(callback, NULL, CR_SIGNAL_CONTEXT);
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = handler_with_info;
	action.sa_flags = SA_SIGINFO;
	sigaction(CR_SIGNUM, &action, NULL);
	is(checkpoint_self("a"), 0, "a checkpoint with a handler with SA_SIGINFO");
	is(calls, 1, "the callback has run");
	union sigval value;

	value.sival_int = 77;
	sigqueue(getpid(), CR_SIGNUM, value);
	pause_ms(20);
	is(last_info, 77, "a signal with a value goes to the program's handler");
}

/* One that was there before the library's is the program's, too. */
static void handled_before(void)
{
	cr_init();
	set_all(handler);
	cr_register_callback(callback, NULL, CR_SIGNAL_CONTEXT);
	kill(getpid(), CR_SIGNUM);
	pause_ms(20);
	is(foreign, 1, "a signal goes to a handler that the program had set before its first callback");
}

static struct sigaction chained;

static void hands_on(int signal, siginfo_t *info, void *context)
{
	foreign++;
	if (chained.sa_flags & SA_SIGINFO)
		chained.sa_sigaction(signal, info, context);
}

/* As libraries do that want a signal for themselves. */
static void handed_on(void)
{
	struct sigaction action;

	alarm(60);
	cr_init();
	cr_register_callback(callback, NULL, CR_SIGNAL_CONTEXT);
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = hands_on;
	action.sa_flags = SA_SIGINFO;
	sigaction(CR_SIGNUM, &action, &chained);
	is(checkpoint_self("a"), 0, "a checkpoint with a handler that hands the signal on to the library's");
	is(calls, 1, "the callback has run");
	for (int i = 1; i <= 3; i++) {
		foreign = 0;
		kill(getpid(), CR_SIGNUM);
		pause_ms(20);
		is(foreign, 1, "a signal that is not the library's comes to it once");
	}
	is(checkpoint_self("a"), 0, "another checkpoint");
	is(calls, 2, "the callback has run");
}

static volatile int hooks_run;

static void hook(cr_hook_event_t event)
{
	(void)event;
	hooks_run++;
}

static void *plain(void *arg)
{
	(void)arg;
	for (;;)
		pause_ms(5);
	return NULL;
}

static void hook_without_handler(void)
{
	pthread_t thread;

	cr_init();
	cr_register_callback(callback, NULL, CR_THREAD_CONTEXT);
	cr_register_hook(CR_HOOK_CONT_NO_CALLBACKS, hook);
	pthread_create(&thread, NULL, plain, NULL);
	pause_ms(50);
	set_all(SIG_DFL);
	is(checkpoint_self("a"), 0, "a checkpoint with a hook, with SIG_DFL for CR_SIGNUM");
	for (int tries = 0; tries < 200 && !hooks_run; tries++)
		pause_ms(10);
	is(hooks_run, 1, "the hook has run");
}

/* By system calls, which are about one thread: the library's are not asked. */
static void check_creds(int error, const char *what)
{
	if (error == CR_ERESTARTED) {
		is(prctl(PR_GET_KEEPCAPS), 1, "PR_SET_KEEPCAPS after the restart");
		is(syscall(SYS_getgid), 1000, "the group as well");
		is(checkpoint_self("again"), 0, "and another checkpoint");
	} else {
		is(error, 0, what);
	}
}

static void credentials(int context)
{
	unlink("again");
	cr_init();
	cr_register_callback(callback, NULL, context);
	is(syscall(SYS_setresgid, 1000, 1000, 0), 0, "setresgid(2)");
	is(prctl(PR_SET_KEEPCAPS, 1), 0, "PR_SET_KEEPCAPS");
	check_creds(checkpoint_self("context"), "a checkpoint of a program that has changed its credentials");
	is(calls, 1 + (access("again", F_OK) == 0), "callbacks have run");
}

static void credentials_thread(void)
{
	credentials(CR_THREAD_CONTEXT);
}

static void credentials_signal(void)
{
	credentials(CR_SIGNAL_CONTEXT);
}

static void *changes(void *arg)
{
	(void)arg;
	prctl(PR_SET_KEEPCAPS, 1);
	for (;;)
		pause_ms(5);
	return NULL;
}

/* Threads of the program's own count. */
static void credentials_of_thread(void)
{
	pthread_t thread;

	cr_init();
	cr_register_callback(callback, NULL, CR_THREAD_CONTEXT);
	pthread_create(&thread, NULL, changes, NULL);
	pause_ms(100);
	is(checkpoint_self("a"), 0, "a checkpoint with credentials of another thread");
}

int main(void)
{
	is(job(by_default), 0, "SIG_DFL");
	is(job(ignored), 0, "SIG_IGN");
	is(job(handled), 0, "a handler");
	is(job(handled_with_info), 0, "a handler with SA_SIGINFO");
	is(job(handled_before), 0, "a handler that was there before");
	is(job(handed_on), 0, "a handler that hands on");
	is(job(hook_without_handler), 0, "hooks");
	if (getuid() == 0) {
		is(job(credentials_thread), 0, "credentials, thread context");
		is(job(credentials_signal), 0, "credentials, signal context");
	}
	is(job(credentials_of_thread), 0, "credentials of a thread");
	return finish();
}
