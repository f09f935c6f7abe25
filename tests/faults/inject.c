// SPDX-License-Identifier: GPL-2.0-only
/*
 * inject [-k] N REPORT COMMAND [ARGUMENT...] - lets something fail in the kernel module
 *
 * Runs COMMAND, and makes the N-th thing that can fail by itself within all ioctls of Cryo that it and its
 * children call, fail: an allocation of memory, or a copy to or from user memory. That is what /proc/PID/fail-nth
 * does, in kernels with CONFIG_FAULT_INJECTION. Ends as COMMAND does.
 *
 * REPORT says afterwards "failed in COMMAND-NUMBER", or "counted M": fewer than N, and nothing failed; and in a second
 * line "restarted", if a restart has succeeded.  With -k, what has been restarted is killed then.
 */
#define _GNU_SOURCE
#include <cryo/ioctl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACED 4096	/* threads inside a call at the same time, and threads restarted */

/* A thread that is inside a call, and what it was given. */
static struct inside {
	pid_t tid;
	unsigned long command, given;
} inside[TRACED];

static unsigned long wanted, left, failed_command;
static bool injected, restarted, kills;
static pid_t threads[TRACED];
static int nr_threads;

static void die(const char *what)
{
	perror(what);
	exit(125);
}

static int open_fail_nth(pid_t tid, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fail-nth", tid);
	return open(path, flags | O_CLOEXEC);
}

static void set_fail_nth(pid_t tid, unsigned long n)
{
	char text[32];
	int fd = open_fail_nth(tid, O_WRONLY);
	int length = snprintf(text, sizeof(text), "%lu", n);

	if (fd < 0 || write(fd, text, (size_t)length) != length)
		die("fail-nth");
	close(fd);
}

static unsigned long get_fail_nth(pid_t tid)
{
	char text[32] = "";
	int fd = open_fail_nth(tid, O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		die("fail-nth");
	close(fd);
	return strtoul(text, NULL, 10);
}

static struct inside *find_inside(pid_t tid)
{
	for (int i = 0; i < TRACED; i++)
		if (inside[i].tid == tid)
			return &inside[i];
	return NULL;
}

static void enter(pid_t tid, const struct __ptrace_syscall_info *call)
{
	struct inside *in = find_inside(0);

	if (call->entry.nr != SYS_ioctl || _IOC_TYPE(call->entry.args[1]) != CRYO_IOC_TYPE || !in)
		return;
	*in = (struct inside){ .tid = tid, .command = call->entry.args[1], .given = left };
	if (in->command == CRYO_RST_RESUME && nr_threads < TRACED)
		threads[nr_threads++] = tid;
	if (left)
		set_fail_nth(tid, left);
}

static void note_restart(void)
{
	restarted = true;
	while (kills && nr_threads > 0)
		kill(threads[--nr_threads], SIGKILL);
}

/* Whether the thread has become one of a restarted process, which is left alone. */
static bool leave(pid_t tid, bool good)
{
	struct inside *in = find_inside(tid);
	unsigned long command, rest;

	if (!in)
		return false;
	command = in->command;
	if (in->given) {
		rest = get_fail_nth(tid);
		set_fail_nth(tid, 0);
		left -= left < in->given - rest ? left : in->given - rest;
		if (!rest && !injected) {
			injected = true;
			failed_command = command;
		}
	}
	in->tid = 0;
	if (command == CRYO_RST_COMMIT && good)
		note_restart();
	return command == CRYO_RST_RESUME;
}

/* What a stop means; 0 or the signal to go on with. */
static void handle_stop(pid_t tid, int status)
{
	struct __ptrace_syscall_info info;
	int sig = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_STOP) {
		ptrace(sig == SIGTRAP ? PTRACE_SYSCALL : PTRACE_LISTEN, tid, 0, 0);
		return;
	}
	if (event)
		sig = 0;
	if (sig == (SIGTRAP | 0x80)) {
		sig = 0;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) < 0)
			return;
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
			enter(tid, &info);
		} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && leave(tid, !info.exit.is_error)) {
			ptrace(PTRACE_DETACH, tid, 0, 0);
			return;
		}
	}
	ptrace(PTRACE_SYSCALL, tid, 0, sig);
}

static pid_t start(char **args)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	int gate[2];
	char byte;
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		close(gate[1]);
		(void)!read(gate[0], &byte, 1);
		execvp(args[0], args);
		die(args[0]);
	}
	if (ptrace(PTRACE_SEIZE, pid, 0, options) || ptrace(PTRACE_INTERRUPT, pid, 0, 0))
		die("ptrace");
	close(gate[0]);
	close(gate[1]);
	return pid;
}

static void write_report(const char *path)
{
	FILE *out = fopen(path, "we");

	if (!out)
		die(path);
	if (injected)
		fprintf(out, "failed in %#lx\n", failed_command);
	else
		fprintf(out, "counted %lu\n", wanted - left);
	if (restarted)
		fprintf(out, "restarted\n");
	fclose(out);
}

static void end_like(int status)
{
	const struct rlimit no_core = { 0, 0 };

	if (WIFEXITED(status))
		exit(WEXITSTATUS(status));
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
}

int main(int argc, char **argv)
{
	pid_t pid, tid;
	int status;

	if (argc > 1 && !strcmp(argv[1], "-k")) {
		kills = true;
		argc--;
		argv++;
	}
	if (argc < 4) {
		fprintf(stderr, "usage: inject [-k] N REPORT COMMAND [ARGUMENT...]\n");
		return 125;
	}
	left = wanted = strtoul(argv[1], NULL, 10);
	pid = start(argv + 3);
	while ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (tid > 0 && WIFSTOPPED(status))
			handle_stop(tid, status);
		if (tid == pid && !WIFSTOPPED(status))
			break;
	}
	write_report(argv[2]);
	end_like(status);
	return 125;
}
