// SPDX-License-Identifier: GPL-2.0-only
/*
 * strike [-f] N COMMAND...: kills COMMAND, by SIGKILL, at its N-th moment
 *
 * Moments are the beginnings and ends of those system calls by which the tools change anything that others see: ioctl() of
 * the module, rename(), unlink(), fsync(), fork(); each has two, counted from 0.  Those of all threads count; with -f those of
 * all processes, too, and the one that comes to the N-th is killed.
 *
 * Says on standard output which call that was, and of which process.  Exit status: 0; 3 when there are fewer moments, and
 * COMMAND has ended by itself; 2 when it does not work.
 */
#define _GNU_SOURCE
#include <cryo/ioctl.h>
#include <errno.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern long ptrace(int request, ...);

static bool follow;
static pid_t command;
static long moment, wanted;

/* Its name, or NULL: none of those. */
static const char *interesting(unsigned long nr, unsigned long request)
{
	switch (nr) {
	case SYS_ioctl: return _IOC_TYPE(request) == CRYO_IOC_TYPE ? "ioctl" : NULL;
#ifdef SYS_rename
	case SYS_rename: return "rename";
#endif
#ifdef SYS_renameat
	case SYS_renameat: return "renameat";
#endif
	case SYS_renameat2: return "renameat2";
#ifdef SYS_unlink
	case SYS_unlink: return "unlink";
#endif
	case SYS_unlinkat: return "unlinkat";
	case SYS_fsync: return "fsync";
#ifdef SYS_fork
	case SYS_fork: return "fork";
#endif
#ifdef SYS_vfork
	case SYS_vfork: return "vfork";
#endif
	case SYS_clone: return "clone";
	case SYS_clone3: return "clone3";
	}
	return NULL;
}

static pid_t process_of(pid_t tid)
{
	char path[64], line[256];
	int found = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &found) == 1)
			break;
	if (file)
		fclose(file);
	return found;
}

static const char *name_at_entry[1 << 16];
static unsigned long request_at_entry[1 << 16];

/* Is this stop of @tid the one?  Then it has been killed. */
static bool strikes(pid_t tid)
{
	struct ptrace_syscall_info info;
	unsigned int slot = (unsigned int)tid & 0xffff;
	bool entry;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) <= 0)
		return false;
	entry = info.op == PTRACE_SYSCALL_INFO_ENTRY;
	if (entry) {
		name_at_entry[slot] = interesting(info.entry.nr, info.entry.args[1]);
		request_at_entry[slot] = info.entry.args[1];
	}
	if (!name_at_entry[slot] || (!entry && info.op != PTRACE_SYSCALL_INFO_EXIT))
		return false;
	if (moment++ != wanted)
		return false;
	printf("%s of %s", entry ? "begin" : "end", name_at_entry[slot]);
	if (!strcmp(name_at_entry[slot], "ioctl"))
		printf(" 0x%lx", _IOC_NR(request_at_entry[slot]));
	printf(" in %s\n", process_of(tid) == command ? "the command" : "another process");
	fflush(stdout);
	kill(process_of(tid), SIGKILL);
	return true;
}

static void go_on(pid_t tid, int status)
{
	int event = status >> 16, signal = WSTOPSIG(status);

	if (event == PTRACE_EVENT_STOP && !follow && process_of(tid) != command)
		ptrace(PTRACE_DETACH, tid, 0, 0);
	else if (event == PTRACE_EVENT_STOP && (signal == SIGSTOP || signal == SIGTSTP))
		ptrace(PTRACE_LISTEN, tid, 0, 0);
	else
		ptrace(PTRACE_SYSCALL, tid, 0, event || signal == (SIGTRAP | 0x80) ? 0 : signal);
}

static int watch(void)
{
	int status;
	pid_t tid;

	for (;;) {
		tid = waitpid(-1, &status, __WALL);
		if (tid < 0)
			return errno == ECHILD ? 3 : 2;
		if (tid == command && !WIFSTOPPED(status))
			return 3;
		if (!WIFSTOPPED(status))
			continue;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && strikes(tid))
			return 0;
		go_on(tid, status);
	}
}

int main(int argc, char **argv)
{
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE;
	int gate[2], status;
	char byte;

	if (argc > 1 && !strcmp(argv[1], "-f")) {
		follow = true;
		options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
		argv++;
		argc--;
	}
	if (argc < 3 || pipe(gate))
		return 2;
	wanted = atol(argv[1]);
	command = fork();
	if (!command) {
		close(gate[1]);
		if (read(gate[0], &byte, 1) != 1)
			_exit(2);
		close(gate[0]);
		execvp(argv[2], argv + 2);
		_exit(2);
	}
	if (command < 0 || ptrace(PTRACE_SEIZE, command, 0, options) || write(gate[1], "", 1) != 1 ||
	    ptrace(PTRACE_INTERRUPT, command, 0, 0))
		return 2;
	close(gate[0]);
	close(gate[1]);
	status = watch();
	/* The end of the one that was killed; the others are let go by our end. */
	return status;
}
