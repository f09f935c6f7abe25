// SPDX-License-Identifier: GPL-2.0-only
/* Callbacks: when, where, in which order, and with which results. */
#include "check.h"
#include <sys/syscall.h>

/* In the order in which things happen; what comes after a checkpoint in signal context, where it is concurrent. */
static char trace[256], signal_trace[256];
static pthread_t main_thread;

/* After a checkpoint the library's thread and others write at the same time. */
static void add(char *to, const char *text)
{
	static cr_spinlock_t lock = CR_SPINLOCK_INITIALIZER;

	cr_spinlock_lock(&lock);
	strcat(to, text);
	cr_spinlock_unlock(&lock);
}

static void note(const char *text)
{
	add(trace, text);
}

static void traced(const char *wanted, const char *what)
{
	if (!ok(!strcmp(trace, wanted), "%s: order", what))
		printf("# is %s, should be %s\n", trace, wanted);
	trace[0] = '\0';
}

/* "<name(" before, "name)" after; with '*' after a restart. */
static int ordered(void *arg)
{
	const char *name = (const char *)arg;
	char *after, end[16];
	int result;

	note(name);
	note("(");
	result = cr_checkpoint(CR_CHECKPOINT_READY);
	after = *name >= 's' ? signal_trace : trace;
	snprintf(end, sizeof(end), "%s%s)", result > 0 ? "*" : result < 0 ? "!" : "", name);
	add(after, end);
	return 0;
}

static int without_call(void *arg)
{
	note((const char *)arg);
	return 0;
}

static void order(void)
{
	int error;

	cr_init();
	main_thread = pthread_self();
	cr_register_callback(ordered, (void *)"a", CR_THREAD_CONTEXT);
	cr_register_callback(ordered, (void *)"s", CR_SIGNAL_CONTEXT);
	cr_register_callback(without_call, (void *)"w", CR_THREAD_CONTEXT);
	cr_register_callback(ordered, (void *)"b", CR_THREAD_CONTEXT);
	cr_register_callback(ordered, (void *)"t", CR_SIGNAL_CONTEXT);
	error = checkpoint_self("context");
	/* The request is over before the callbacks are. */
	pause_ms(300);
	if (error == CR_ERESTARTED) {
		/* The main thread is held until the callbacks of the process are through. */
		traced("b(wa(t(s(*a)*b)", "restart, thread context");
		ok(!strcmp(signal_trace, "*s)*t)"), "restart, signal context: order");
		is(checkpoint_self("second"), 0, "another checkpoint after the restart");
		pause_ms(300);
		traced("b(wa(t(s(a)b)", "another checkpoint");
	} else {
		is(error, 0, "a checkpoint with callbacks");
		traced("b(wa(t(s(a)b)", "thread context, then signal context, last registered first");
		ok(!strcmp(signal_trace, "s)t)"), "signal context: order");
	}
}

static volatile int info_ok, own_thread, in_main;
static int info_result;

static int look(void *arg)
{
	const struct cr_checkpoint_info *info = cr_get_checkpoint_info();
	const struct cr_restart_info *restart;

	(void)arg;
	info_ok = info && info->requester == getpid() && info->target == 0 && info->signal == 0 &&
		  info->scope == CR_SCOPE_PROC && strlen(info->dest) > 8 &&
		  !strcmp(info->dest + strlen(info->dest) - 8, "/context");
	own_thread = !pthread_equal(pthread_self(), main_thread);
	is(cr_enter_cs(CR_ID_CALLBACK), 0, "cr_enter_cs() in a callback");
	is(cr_leave_cs(CR_ID_CALLBACK), 0, "cr_leave_cs() in a callback");
	is(cr_status(), CR_STATE_ACTIVE, "cr_status() in a callback");
	fails(cr_register_callback(look, NULL, CR_THREAD_CONTEXT), EBUSY);
	fails(cr_replace_callback(CR_THREAD_CONTEXT, look, NULL, CR_THREAD_CONTEXT), EBUSY);
	ok(cr_get_restart_info() == NULL, "no restart info before");
	info_result = cr_checkpoint(CR_CHECKPOINT_READY);
	restart = cr_get_restart_info();
	if (info_result > 0) {
		ok(restart && restart->requester == getppid() && restart->requester == info_result,
		   "the restart's requester is cr_restart");
		ok(restart && strlen(restart->src) > 8 && !strcmp(restart->src + strlen(restart->src) - 8, "/context"),
		   "the restart's source is the context");
	} else {
		ok(restart == NULL, "no restart info");
	}
	is(cr_checkpoint(CR_CHECKPOINT_READY), info_result, "cr_checkpoint() again says the same");
	return 0;
}

static int in_signal(void *arg)
{
	(void)arg;
	in_main = pthread_equal(pthread_self(), main_thread);
	return 0;
}

static void info(void)
{
	main_thread = pthread_self();
	cr_init();
	cr_register_callback(look, NULL, CR_THREAD_CONTEXT);
	cr_register_callback(in_signal, NULL, CR_SIGNAL_CONTEXT);
	checkpoint_self("context");
	pause_ms(300);
	ok(info_ok, "struct cr_checkpoint_info");
	ok(own_thread, "thread context is not the main thread");
	ok(in_main, "signal context is the thread that registered");
}

static int replacement(void *arg)
{
	note((const char *)arg);
	return 0;
}

static int replaces_itself(void *arg)
{
	note((const char *)arg);
	fails(cr_replace_self(replacement, (void *)"2", CR_SIGNAL_CONTEXT), EINVAL);
	is(cr_replace_self(replacement, (void *)"2", CR_THREAD_CONTEXT), 0, "cr_replace_self()");
	return 0;
}

static void replace(void)
{
	cr_callback_id_t id;

	cr_init();
	cr_register_callback(replaces_itself, (void *)"1", CR_THREAD_CONTEXT);
	id = cr_register_callback(replacement, (void *)"x", CR_THREAD_CONTEXT);
	is(checkpoint_self("a"), 0, "first checkpoint");
	pause_ms(200);
	traced("x1", "replacing itself");
	cr_replace_callback(id, NULL, NULL, CR_THREAD_CONTEXT);
	is(checkpoint_self("a"), 0, "second checkpoint");
	pause_ms(200);
	traced("2", "replaced by NULL");
}

static volatile int hooks_in_plain, hooks_in_blocking;
static __thread volatile int *hook_count;
static volatile bool unblock;

static void hook(cr_hook_event_t event)
{
	char text[2] = { (char)('0' + event), 0 };

	if (hook_count)
		++*hook_count;
	note(text);
}

/* A thread that has not called cr_init(). */
static void *plain(void *arg)
{
	sigset_t set;

	hook_count = arg ? &hooks_in_blocking : &hooks_in_plain;
	sigfillset(&set);
	if (arg)
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (;;) {
		pause_ms(1);
		if (unblock)
			pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	}
	return NULL;
}

static bool has_run(cr_hook_event_t event)
{
	return strchr(trace, '0' + event);
}

static int refusing(void *arg)
{
	(void)arg;
	cr_checkpoint(CR_CHECKPOINT_TEMP_FAILURE);
	return 0;
}

static void hooks_are_after_restart(void)
{
	ok(has_run(CR_HOOK_RSTRT_SIGNAL_CONTEXT) && has_run(CR_HOOK_RSTRT_THREAD_CONTEXT), "hooks after the restart");
	ok(has_run(CR_HOOK_RSTRT_NO_CALLBACKS), "also without cr_init()");
	ok(!has_run(CR_HOOK_CONT_THREAD_CONTEXT) && !has_run(CR_HOOK_CONT_NO_CALLBACKS), "and no others");
}

static void hooks_are_after_checkpoint(void)
{
	ok(has_run(CR_HOOK_CONT_SIGNAL_CONTEXT) && has_run(CR_HOOK_CONT_THREAD_CONTEXT) && strstr(trace, "a)"),
	   "hooks after the checkpoint");
	ok(has_run(CR_HOOK_CONT_NO_CALLBACKS), "also without cr_init()");
	ok(!has_run(CR_HOOK_RSTRT_SIGNAL_CONTEXT) && !has_run(CR_HOOK_RSTRT_THREAD_CONTEXT) &&
		   !has_run(CR_HOOK_RSTRT_NO_CALLBACKS), "and no others");
}

static void hooks(void)
{
	pthread_t thread;
	int error, event;

	cr_init();
	cr_register_callback(ordered, (void *)"a", CR_THREAD_CONTEXT);
	for (event = 0; event < CR_NUM_HOOKS; event++)
		cr_register_hook((cr_hook_event_t)event, hook);
	pthread_create(&thread, NULL, plain, NULL);
	pthread_create(&thread, NULL, plain, (void *)"");
	pause_ms(100);
	error = checkpoint_self("context");
	pause_ms(300);
	if (error == CR_ERESTARTED) {
		hooks_are_after_restart();
	} else {
		is(error, 0, "a checkpoint with hooks");
		hooks_are_after_checkpoint();
	}
	is(hooks_in_plain, 1, "once in a thread");
	unblock = true;
	pause_ms(50);
	is(hooks_in_blocking, 0, "not where the signal was blocked");
	hooks_in_plain = 0;
	cr_register_callback(refusing, NULL, CR_THREAD_CONTEXT);
	is(checkpoint_self("refused"), CR_ETEMPFAIL, "a checkpoint that a callback refuses");
	pause_ms(200);
	is(hooks_in_plain, 0, "without hooks");
}

static volatile int running, told, order_ok;

static int slow_callback(void *arg)
{
	(void)arg;
	told++;
	/* The program runs on meanwhile. */
	int before = running;

	pause_ms(200);
	order_ok = running > before;
	return 0;
}

static void *counts(void *arg)
{
	(void)arg;
	for (;;) {
		running++;
		pause_ms(1);
	}
	return NULL;
}

static void runs_on(void)
{
	pthread_t thread;

	cr_init();
	pthread_create(&thread, NULL, counts, NULL);
	cr_register_callback(slow_callback, NULL, CR_THREAD_CONTEXT);
	is(checkpoint_self("a"), 0, "a checkpoint with a slow callback");
	ok(order_ok, "the other threads run while callbacks do");
	is(told, 1, "called once");
}

/* A child registers for itself, or not at all. */
static void children(void)
{
	cr_checkpoint_args_t args;
	pid_t pid;

	cr_init();
	cr_register_callback(ordered, (void *)"a", CR_THREAD_CONTEXT);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		fails(cr_status(), CR_ENOINIT);
		is(cr_init(), 0, "a child has to call cr_init() again");
		is(checkpoint_self("child"), 0, "a checkpoint of the child");
		is((long)strlen(trace), 0, "without the callbacks of the parent");
		cr_register_callback(ordered, (void *)"c", CR_THREAD_CONTEXT);
		is(checkpoint_self("child"), 0, "a checkpoint of the child");
		pause_ms(200);
		traced("c(c)", "the child's own callback");
		/* The parent's count goes on behind ours. */
		_exit(check_failed ? 1 : 0);
	}
	is(end_of(pid), 0, "the child");
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_TREE;
	is(checkpoint_with("a", &args, NULL), 0, "a checkpoint of the parent");
	pause_ms(200);
	traced("a(a)", "the parent's callback");
}

static pid_t other;

static int forwards(void *arg)
{
	int wrong = 0;

	(void)arg;
	is(cr_forward_checkpoint(CR_SCOPE_PROC, other), 0, "cr_forward_checkpoint() to another process");
	is(cr_forward_checkpoint(CR_SCOPE_TREE, other), 0, "and to its children");
	is(cr_forward_checkpoint(CR_SCOPE_PROC, 0), 0, "to oneself, who is in it already");
	fails(cr_forward_checkpoint(CR_SCOPE_PROC, 99999999), ESRCH);
	fails(cr_forward_checkpoint((cr_scope_t)9, other), EINVAL);
	/* Three until now, as the wrong ones do not count. */
	for (int i = 3; i < 1024; i++)
		wrong += cr_forward_checkpoint(CR_SCOPE_PROC, 0) != 0;
	is(wrong, 0, "as often as a checkpoint allows");
	fails(cr_forward_checkpoint(CR_SCOPE_PROC, 0), ENOSPC);
	is(cr_checkpoint(CR_CHECKPOINT_READY), 0, "a checkpoint that was forwarded");
	fails(cr_forward_checkpoint(CR_SCOPE_PROC, other), EINVAL);
	return 0;
}

static int leaves_a_file(void *arg)
{
	close(open((const char *)arg, O_WRONLY | O_CREAT, 0600));
	return 0;
}

/* Two more processes, which nobody has asked for. */
static void forward(void)
{
	int status;

	fflush(stdout);
	other = fork();
	if (other == 0) {
		if (fork() == 0)
			for (;;)
				pause();
		cr_init();
		cr_register_callback(leaves_a_file, (void *)"told", CR_THREAD_CONTEXT);
		close(open("ready", O_WRONLY | O_CREAT, 0600));
		for (;;)
			pause();
	}
	while (access("ready", F_OK))
		pause_ms(10);
	cr_init();
	cr_register_callback(forwards, NULL, CR_THREAD_CONTEXT);
	is(checkpoint_self("forwarded"), 0, "a checkpoint with more processes than it was asked for");
	pause_ms(200);
	ok(access("told", F_OK) == 0, "the other one's callback");
	status = system("test \"$(cr_info forwarded | grep -c '^process ')\" = 3");
	is(status, 0, "all three are in the context");
	/* They are a group of their own, with us. */
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	is(end_of(other), 256 + SIGTERM, "the other one");
}

static pid_t blocked, session;
static int blocked_result, group_result, init_result;

/* One of them is in another checkpoint: that is an error of the call, and the checkpoint goes on without them. */
static int forwards_in_vain(void *arg)
{
	(void)arg;
	errno = 0;
	blocked_result = cr_forward_checkpoint(CR_SCOPE_PROC, blocked) == 0 ? 0 : errno;
	errno = 0;
	group_result = cr_forward_checkpoint(CR_SCOPE_SESS, session) == 0 ? 0 : errno;
	errno = 0;
	init_result = cr_forward_checkpoint(CR_SCOPE_PROC, 1) == 0 ? 0 : errno;
	return 0;
}

static int waits_for_file(void *arg)
{
	close(open("in", O_WRONLY | O_CREAT, 0600));
	while (access((const char *)arg, F_OK))
		pause_ms(10);
	return 0;
}

/* A session of two, one of which is in a checkpoint that lasts until "end" is there. */
static void start_blocked_session(void)
{
	int fds[2];

	unlink("in");
	unlink("end");
	if (pipe(fds))
		return;
	fflush(stdout);
	session = fork();
	if (session == 0) {
		pid_t member;

		setsid();
		member = fork();
		if (member == 0) {
			cr_init();
			cr_register_callback(waits_for_file, (void *)"end", CR_THREAD_CONTEXT);
			_exit(checkpoint_self("of-other"));
		}
		write(fds[1], &member, sizeof(member));
		_exit(end_of(member));
	}
	if (read(fds[0], &blocked, sizeof(blocked)) != sizeof(blocked))
		return;
	close(fds[0]);
	close(fds[1]);
	while (access("in", F_OK))
		pause_ms(10);
}

static void forward_in_vain(void)
{
	start_blocked_session();
	cr_init();
	cr_register_callback(forwards_in_vain, NULL, CR_THREAD_CONTEXT);
	is(checkpoint_self("forwarded"), 0, "a checkpoint that cannot be forwarded");
	is(blocked_result, EBUSY, "cr_forward_checkpoint() to a process in another checkpoint fails with EBUSY");
	is(group_result, EBUSY, "so it does to a session with such a one");
	if (getuid() == 0)
		is(init_result, EPERM, "to process 1 with EPERM");
	is(system("test \"$(cr_info forwarded | grep -c '^process ')\" = 1"), 0, "the context is without them");
	close(open("end", O_WRONLY | O_CREAT, 0600));
	is(end_of(session), 0, "the other checkpoint is well");
}

static int result_of_forward(cr_scope_t scope, pid_t target)
{
	errno = 0;
	return cr_forward_checkpoint(scope, target) == 0 ? 0 : errno;
}

static int requester_pipe[2];

/* It is in a group of its own. */
static int forwards_to_requester(void *arg)
{
	int results[3];

	(void)arg;
	results[0] = result_of_forward(CR_SCOPE_PROC, getppid());
	results[1] = result_of_forward(CR_SCOPE_PGRP, getpgid(getppid()));
	results[2] = result_of_forward(CR_SCOPE_SESS, 0);
	write(requester_pipe[1], results, sizeof(results));
	return 0;
}

/* Who does not want to be in the checkpoint is not brought into it by others. */
static void forward_to_requester(void)
{
	int results[3] = { -1, -1, -1 };
	cr_checkpoint_args_t args;
	pid_t child;
	char c;

	if (pipe(requester_pipe))
		return;
	fflush(stdout);
	child = fork();
	if (child == 0) {
		setpgid(0, 0);
		cr_init();
		cr_register_callback(forwards_to_requester, NULL, CR_THREAD_CONTEXT);
		write(requester_pipe[1], "", 1);
		for (;;)
			pause();
	}
	read(requester_pipe[0], &c, 1);
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_target = child;
	args.cr_flags = CR_CHKPT_PROHIBIT_SELF;
	is(checkpoint_with("forwarded", &args, NULL), 0, "a checkpoint of another process, which forwards it");
	read(requester_pipe[0], results, sizeof(results));
	is(results[0], EDEADLK, "to the requester: cr_forward_checkpoint() fails with EDEADLK");
	is(results[1], EDEADLK, "so it does to a group of which there is nobody else");
	is(results[2], 0, "a session is without him");
	is(system("test \"$(cr_info forwarded | grep -c '^process ')\" = 1"), 0, "the context is without him");
	kill(child, SIGKILL);
	end_of(child);
}

static volatile int in_section, overlap, callbacks_run;

static int counts_sections(void *arg)
{
	(void)arg;
	callbacks_run++;
	if (in_section)
		overlap++;
	return 0;
}

static void *sections(void *arg)
{
	(void)arg;
	cr_init();
	while (!callbacks_run || callbacks_run < 3) {
		cr_enter_cs(0);
		__atomic_add_fetch(&in_section, 1, __ATOMIC_SEQ_CST);
		pause_ms(2);
		__atomic_sub_fetch(&in_section, 1, __ATOMIC_SEQ_CST);
		cr_leave_cs(0);
	}
	return NULL;
}

static void critical_sections(void)
{
	pthread_t threads[8];
	int i;

	cr_init();
	cr_register_callback(counts_sections, NULL, CR_THREAD_CONTEXT);
	for (i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, sections, NULL);
	for (i = 0; i < 3; i++)
		is(checkpoint_self("a"), 0, "a checkpoint between critical sections");
	for (i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	is(callbacks_run, 3, "callbacks ran");
	is(overlap, 0, "never while somebody was in a critical section");
}

int main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	is(job(order), 0, "order and nesting");
	is(job(info), 0, "what a callback can know");
	is(job(replace), 0, "replaced callbacks");
	is(job(hooks), 0, "hooks");
	is(job(runs_on), 0, "the program runs on");
	is(job(children), 0, "children");
	is(job(forward), 0, "forwarding");
	is(job(forward_to_requester), 0, "forwarding to the requester");
	is(job(forward_in_vain), 0, "forwarding in vain");
	is(job(critical_sections), 0, "critical sections");
	return finish();
}
