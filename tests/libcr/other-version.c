// SPDX-License-Identifier: GPL-2.0-only
/*
 * other-version COMMAND [ARGUMENT]... - for the command, the module seems to have another interface
 *
 * $OTHER_MAJOR and $OTHER_MINOR are added to its numbers, in what CRYO_IOC_VERSION says to the command's first
 * thread. By ptrace(), for the tools are linked statically, and nothing can be preloaded.
 */
#define _GNU_SOURCE
#include <cryo/ioctl.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "other-version: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int number(const char *name)
{
	const char *text = getenv(name);

	return text ? atoi(text) : 0;
}

static void change(pid_t pid, uint64_t at)
{
	struct cryo_version version;
	struct iovec here = { &version, offsetof(struct cryo_version, format_major) };
	struct iovec there = { (void *)(uintptr_t)at, here.iov_len };

	if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)here.iov_len)
		die("process_vm_readv");
	version.abi_major += number("OTHER_MAJOR");
	version.abi_minor += number("OTHER_MINOR");
	if (process_vm_writev(pid, &here, 1, &there, 1, 0) != (ssize_t)here.iov_len)
		die("process_vm_writev");
}

/* At the entry of a call and at its end. */
static void at_call(pid_t pid)
{
	static uint64_t asked;
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) < 0)
		die("PTRACE_GET_SYSCALL_INFO");
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		asked = info.entry.nr == SYS_ioctl && (uint32_t)info.entry.args[1] == CRYO_IOC_VERSION ?
			info.entry.args[2] : 0;
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && asked && !info.exit.is_error) {
		change(pid, asked);
	}
}

static int follow(pid_t pid)
{
	int status, sig = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, (long)sig))
			die("PTRACE_SYSCALL");
		if (waitpid(pid, &status, 0) < 0)
			die("waitpid");
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		if (WIFSIGNALED(status))
			return 128 + WTERMSIG(status);
		sig = WSTOPSIG(status);
		if (sig == (SIGTRAP | 0x80)) {
			at_call(pid);
			sig = 0;
		} else if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
			sig = 0;
		}
	}
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: other-version COMMAND [ARGUMENT]...\n");
		return 2;
	}
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP))
			die("PTRACE_TRACEME");
		execvp(argv[1], argv + 1);
		die(argv[1]);
	}
	if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		die("waitpid");
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC))
		die("PTRACE_SETOPTIONS");
	return follow(pid);
}
