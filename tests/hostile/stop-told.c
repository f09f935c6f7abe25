// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process that is stopped without a signal, as its parent knows that already, is: whatever it has done about that signal. One that
 * only counted as stopped would make the kernel warn when it is traced.
 */
#include "restarting.h"

static struct start here;

static void wait_here(void)
{
	for (;;)
		sleep_ms(10);
}

static bool comes_to(pid_t pid, const char *states)
{
	for (unsigned int i = 0; i < 200 * factor(); i++) {
		if (strchr(states, process_state(pid)))
			return true;
		sleep_ms(10);
	}
	return false;
}

enum attitude { DEFAULT, BLOCKED, IGNORED, NR_ATTITUDES };

static pid_t start_member(int handle, int signal_number, unsigned int flags, enum attitude attitude)
{
	pid_t pid = fork();
	struct cryo_regset set;
	struct cryo_resume args;

	if (pid)
		return pid;
	signal(signal_number, attitude == IGNORED ? SIG_IGN : SIG_DFL);
	args = resume_args(&here, &set);
	args.signal = signal_number;
	args.flags |= flags;
	if (attitude == BLOCKED)
		args.sigmask = 1ULL << (signal_number - 1);
	resume(handle, &args);
	_exit(9);
}

static int told(pid_t pid, int options)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, options | WNOHANG) || !info.si_pid ? 0 : info.si_code;
}

static void is_traced(pid_t pid)
{
	int status = 0;

	ok(!ptrace(PTRACE_SEIZE, pid, NULL, NULL) && !ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) && waitpid(pid, &status, __WALL) == pid &&
	   WIFSTOPPED(status), "... can be traced");
	ok(!ptrace(PTRACE_DETACH, pid, NULL, NULL) && comes_to(pid, "T"), "... and is still stopped when its tracer lets it go");
}

static void stopped(int signal_number, bool waited, enum attitude attitude)
{
	static const char *const attitudes[] = { "", ", which it blocks", ", which it ignores" };
	int handle = make_handle(1, 1);
	pid_t pid = start_member(handle, signal_number, CRYO_RESUME_STOP_TOLD | (waited ? CRYO_RESUME_STOP_WAITED : 0), attitude);
	int err = commit(handle, 10000 * factor());

	ok(!err && comes_to(pid, "T"), "stopped by %s%s, %swaited for", strsignal(signal_number), attitudes[attitude], waited ? "" : "not ");
	ok(told(pid, WSTOPPED) == (waited ? 0 : CLD_STOPPED), "... as its parent can see");
	is_traced(pid);
	kill(pid, SIGCONT);
	ok(comes_to(pid, "RS"), "... goes on by SIGCONT");
	ok(told(pid, WCONTINUED) == CLD_CONTINUED, "... which its parent can see");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(handle);
}

static void refused(int signal_number)
{
	struct cryo_regset set;
	struct cryo_resume args = resume_args(&here, &set);
	int handle = make_handle(1, 1);

	args.signal = signal_number;
	args.flags |= CRYO_RESUME_STOP_TOLD;
	ok(resume(handle, &args) == EINVAL, "signal %d stops nobody, and is refused", signal_number);
	close(handle);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid()) {
		puts("1..0 # SKIP needs root to become another user");
		return 0;
	}
	become_user(ORDINARY);
	take_start(&here, wait_here);
	for (int attitude = 0; attitude < NR_ATTITUDES; attitude++) {
		stopped(SIGTSTP, true, (enum attitude)attitude);
		stopped(SIGTTIN, false, (enum attitude)attitude);
	}
	stopped(SIGSTOP, true, DEFAULT);
	refused(0);
	refused(SIGCONT);
	refused(65);
	return finish();
}
