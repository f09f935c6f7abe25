// SPDX-License-Identifier: GPL-2.0-only
/* What each function returns when it is called in a wrong way or at a wrong time. */
#include "check.h"

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static void before_init(void)
{
	fails(cr_register_callback(nothing, NULL, CR_THREAD_CONTEXT), CR_ENOINIT);
	fails(cr_replace_callback(0, nothing, NULL, CR_THREAD_CONTEXT), CR_ENOINIT);
	fails(cr_enter_cs(0), CR_ENOINIT);
	fails(cr_tryenter_cs(0), CR_ENOINIT);
	fails(cr_leave_cs(0), CR_ENOINIT);
	fails(cr_status(), CR_ENOINIT);
	fails(cr_hold_ctrl(CR_HOLD_SCOPE_INIT, CR_HOLD_READ), CR_ENOINIT);
	fails(cr_inc_persist(), CR_ENOINIT);
	fails(cr_dec_persist(), CR_ENOINIT);
	errno = 0;
	ok(cr_register_hook(CR_HOOK_CONT_SIGNAL_CONTEXT, NULL) == CR_HOOK_FN_ERROR && errno == CR_ENOINIT,
	   "cr_register_hook() fails with CR_ENOINIT");
}

static void outside_of_callbacks(void)
{
	is(cr_checkpoint(CR_CHECKPOINT_READY), -CR_ENOTCB, "cr_checkpoint() outside of a callback");
	fails(cr_replace_self(nothing, NULL, CR_THREAD_CONTEXT), CR_ENOTCB);
	fails(cr_forward_checkpoint(CR_SCOPE_PROC, 0), CR_ENOTCB);
	ok(cr_get_checkpoint_info() == NULL, "no checkpoint info outside of a callback");
	ok(cr_get_restart_info() == NULL, "no restart info outside of a callback");
}

static void callbacks(void)
{
	cr_callback_id_t id;

	errno = 0;
	ok(cr_register_hook(CR_HOOK_CONT_SIGNAL_CONTEXT, CR_HOOK_FN_ERROR) == CR_HOOK_FN_ERROR && errno == EINVAL,
	   "CR_HOOK_FN_ERROR is no hook");
	ok(cr_register_hook(CR_HOOK_CONT_SIGNAL_CONTEXT, NULL) == NULL, "and has not become one");
	fails(cr_register_callback(nothing, NULL, 0), EINVAL);
	fails(cr_register_callback(nothing, NULL, CR_THREAD_CONTEXT | CR_SIGNAL_CONTEXT), EINVAL);
	id = cr_register_callback(nothing, NULL, CR_THREAD_CONTEXT);
	is(id, CR_THREAD_CONTEXT, "the first callback in thread context has index 0");
	is(cr_register_callback(nothing, NULL, CR_SIGNAL_CONTEXT), CR_SIGNAL_CONTEXT,
	   "the first callback in signal context has index 0");
	is(cr_register_callback(NULL, NULL, CR_THREAD_CONTEXT), CR_THREAD_CONTEXT | 1, "NULL keeps a place");
	is(cr_replace_callback(id, NULL, NULL, CR_THREAD_CONTEXT), 0, "cr_replace_callback()");
	fails(cr_replace_callback(id, NULL, NULL, CR_SIGNAL_CONTEXT), EINVAL);
	fails(cr_replace_callback(CR_THREAD_CONTEXT | 2, NULL, NULL, CR_THREAD_CONTEXT), EINVAL);
	fails(cr_replace_callback(-1, NULL, NULL, CR_THREAD_CONTEXT), EINVAL);
}

static void sections(void)
{
	is(cr_enter_cs(0), 0, "cr_enter_cs()");
	is(cr_enter_cs(0), 0, "cr_enter_cs() inside");
	is(cr_tryenter_cs(0), 0, "cr_tryenter_cs() inside");
	is(cr_leave_cs(0), 0, "cr_leave_cs()");
	is(cr_leave_cs(0), 0, "cr_leave_cs()");
	is(cr_leave_cs(0), 0, "cr_leave_cs() of the outermost");
	is(cr_status(), CR_STATE_IDLE, "cr_status() when nothing happens");
}

static void excess_leave(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		cr_init();
		cr_leave_cs(0);
		_exit(0);
	}
	is(end_of(pid), 256 + SIGABRT, "leaving more than was entered ends the process");
}

static void settings(void)
{
	is(cr_hold_ctrl(CR_HOLD_SCOPE_INIT, CR_HOLD_READ), CR_HOLD_BOTH, "threads with cr_init() are held by default");
	is(cr_hold_ctrl(CR_HOLD_SCOPE_UNINIT, CR_HOLD_CONT), CR_HOLD_BOTH, "the others, too");
	is(cr_hold_ctrl(CR_HOLD_SCOPE_UNINIT, CR_HOLD_READ), CR_HOLD_CONT, "a change of hold");
	is(cr_hold_ctrl(CR_HOLD_SCOPE_THREAD, CR_HOLD_NONE), CR_HOLD_DFLT, "a thread has no hold of its own");
	is(cr_hold_ctrl(CR_HOLD_SCOPE_THREAD, CR_HOLD_DFLT), CR_HOLD_NONE, "until it asks for it");
	fails(cr_hold_ctrl(CR_HOLD_SCOPE_INIT, CR_HOLD_DFLT), EINVAL);
	fails(cr_hold_ctrl(CR_HOLD_SCOPE_THREAD, 5), EINVAL);
	fails(cr_hold_ctrl(3, CR_HOLD_READ), EINVAL);
	is(cr_inc_persist(), 0, "cr_inc_persist() returns the count before");
	is(cr_dec_persist(), 1, "cr_dec_persist() as well");
	fails(cr_dec_persist(), ERANGE);
	ok(cr_register_hook(CR_HOOK_RSTRT_NO_CALLBACKS, NULL) == NULL, "no hook at first");
	errno = 0;
	ok(cr_register_hook((cr_hook_event_t)CR_NUM_HOOKS, NULL) == CR_HOOK_FN_ERROR && errno == EINVAL,
	   "cr_register_hook() knows its events");
}

static void spinlocks(void)
{
	cr_spinlock_t lock = CR_SPINLOCK_INITIALIZER;

	cr_spinlock_lock(&lock);
	is(cr_spinlock_trylock(&lock), 0, "a spinlock that is taken");
	cr_spinlock_unlock(&lock);
	ok(cr_spinlock_trylock(&lock) != 0, "a spinlock that is free");
	cr_spinlock_init(&lock);
	ok(cr_spinlock_trylock(&lock) != 0, "a new spinlock");
}

static void requests(void)
{
	cr_checkpoint_handle_t handle = (cr_checkpoint_handle_t)-1;
	cr_checkpoint_args_t args;
	cr_restart_args_t restart;
	int pipe_fds[2];

	is(cr_initialize_checkpoint_args_t(&args), 0, "cr_initialize_checkpoint_args_t()");
	ok(args.cr_version == 1 && (int)args.cr_scope == -1 && args.cr_target == 0 && args.cr_fd == -1 &&
	   args.cr_signal == 0 && args.cr_timeout == 0 && args.cr_flags == 0, "its defaults");
	fails(cri_init_checkpoint_args_t(2, &args), EINVAL);
	is(cr_initialize_restart_args_t(&restart), 0, "cr_initialize_restart_args_t()");
	ok(restart.cr_version == 1 && restart.cr_fd == -1 && restart.cr_flags == CR_RSTRT_RESTORE_PID &&
	   restart.cr_relocate == NULL && restart.cr_signal == 0, "its defaults");
	fails(cri_init_restart_args_t(0, &restart), EINVAL);

	if (pipe(pipe_fds))
		return;
	cr_initialize_checkpoint_args_t(&args);
	args.cr_fd = pipe_fds[1];
	fails(cr_request_checkpoint(&args, &handle), EINVAL);	/* no scope */
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_version = 7;
	fails(cr_request_checkpoint(&args, &handle), EINVAL);
	args.cr_version = 1;
	args.cr_fd = -1;
	fails(cr_request_checkpoint(&args, &handle), EINVAL);
	args.cr_fd = pipe_fds[0];
	fails(cr_request_checkpoint(&args, &handle), EBADF);
	args.cr_fd = pipe_fds[1];
	args.cr_target = 99999999;
	fails(cr_request_checkpoint(&args, &handle), ESRCH);
	args.cr_target = 0;
	args.cr_flags = CR_CHKPT_PROHIBIT_SELF;
	fails(cr_request_checkpoint(&args, &handle), EDEADLK);
	args.cr_flags = 0;
	args.cr_signal = 1000;
	fails(cr_request_checkpoint(&args, &handle), EINVAL);
	handle = (cr_checkpoint_handle_t)pipe_fds[0];
	fails(cr_reap_checkpoint(&handle), ENOTTY);
	ok(fcntl(pipe_fds[0], F_GETFD) >= 0, "a descriptor that is no handle stays open");
	handle = 999;
	fails(cr_wait_checkpoint(&handle, NULL), EBADF);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

int main(void)
{
	before_init();
	ok(cr_init() == 0 && cr_init() == 1 && cr_init() == 2, "cr_init() counts");
	outside_of_callbacks();
	callbacks();
	sections();
	excess_leave();
	settings();
	spinlocks();
	requests();
	ok(strstr(cr_strerror(CR_ENOINIT), "cr_init") != NULL, "cr_strerror() of CR_ENOINIT");
	is(strcmp(cr_strerror(ENOENT), strerror(ENOENT)), 0, "cr_strerror() of ENOENT");
	is(cri_signum, CR_SIGNUM, "cri_signum");
	return finish();
}
