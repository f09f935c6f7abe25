// SPDX-License-Identifier: GPL-2.0-only
/*
 * waits WAY: a program that has cr_checkpoint write it to "ctx", and waits for that in one of the ways there are. It prints what it
 * learns of the command's end, which has to be the same after a restart.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static volatile int got, from, code;

static void handler(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	got++;
	from = info->si_pid;
	code = info->si_code;
}

static pid_t command(int out)
{
	char target[16];
	const char *argv[] = { "cr_checkpoint", "-q", "-f", "ctx", target, NULL };
	sigset_t none;
	pid_t pid;

	snprintf(target, sizeof(target), "%d", (int)getpid());
	pid = fork();
	if (pid != 0)
		return pid;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (out >= 0)
		dup2(out, 1);
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

static void say(const char *what, long result)
{
	printf("%s %ld\n", what, result);
	fflush(stdout);
}

static int status_of(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void handle(int flags)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	sigaction(SIGCHLD, &action, NULL);
}

static void block(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void with_handler(int flags)
{
	pid_t pid;

	handle(flags);
	pid = command(-1);
	say("status", status_of(pid));
	say("signals", got);
	say("from it", from == pid && code == CLD_EXITED);
}

static void plain_handler(void)
{
	with_handler(0);
}

static void restarting_handler(void)
{
	with_handler(SA_RESTART);
}

static void by_system(void)
{
	char text[64];

	snprintf(text, sizeof(text), "exec cr_checkpoint -q -f ctx %d", (int)getpid());
	say("status", system(text));
}

static void by_spawn(void)
{
	char target[16];
	const char *argv[] = { "cr_checkpoint", "-q", "-f", "ctx", target, NULL };
	pid_t pid;

	snprintf(target, sizeof(target), "%d", (int)getpid());
	say("spawn", posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ));
	say("status", status_of(pid));
}

static void by_sigsuspend(void)
{
	sigset_t none;
	pid_t pid;

	handle(0);
	block();
	pid = command(-1);
	sigemptyset(&none);
	while (!got)
		sigsuspend(&none);
	say("signals", got);
	say("status", status_of(pid));
}

static void by_sigwait(void)
{
	siginfo_t info;
	sigset_t set;
	pid_t pid;

	block();
	pid = command(-1);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	while (sigwaitinfo(&set, &info) < 0)
		;
	say("from it", info.si_pid == pid && info.si_code == CLD_EXITED && info.si_status == 0);
	say("status", status_of(pid));
}

static void by_signalfd(void)
{
	struct signalfd_siginfo info;
	sigset_t set;
	pid_t pid;
	int fd;

	block();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	pid = command(-1);
	say("read", read(fd, &info, sizeof(info)));
	say("from it", (pid_t)info.ssi_pid == pid);
	say("status", status_of(pid));
}

static void by_waitid(void)
{
	siginfo_t info;
	pid_t pid = command(-1);

	while (waitid(P_PID, pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	say("left to wait for", info.si_pid == pid && info.si_status == 0);
	say("user", info.si_uid);
	say("status", status_of(pid));
}

/* Like the user of the whole: a program with an end for its own use of each. */
static void by_pipe(void)
{
	int fds[2];
	char byte;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return;
	pid = command(fds[1]);
	close(fds[1]);
	say("read", read(fds[0], &byte, 1));
	say("status", status_of(pid));
}

/* Its standard input: nobody reads it any more. */
static void by_fifo(void)
{
	char byte;
	pid_t pid;
	int in;

	unlink("fifo");
	mkfifo("fifo", 0600);
	in = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int out = open("fifo", O_WRONLY | O_CLOEXEC);

	fcntl(in, F_SETFL, 0);
	pid = command(out);
	close(out);
	say("read", read(in, &byte, 1));
	say("status", status_of(pid));
}

static void by_pidfd(void)
{
	pid_t pid = command(-1);
	struct pollfd poll_pid = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	while (poll(&poll_pid, 1, -1) < 0)
		;
	say("ended", poll_pid.revents);
	say("status", status_of(pid));
}

/* The kernel keeps no zombies of such a program. */
static void ignored(void)
{
	pid_t pid;

	signal(SIGCHLD, SIG_IGN);
	pid = command(-1);
	say("status", status_of(pid));
	say("errno", errno);
}

static void unwanted(void)
{
	pid_t pid;

	handle(SA_NOCLDWAIT);
	pid = command(-1);
	say("status", status_of(pid));
	say("errno", errno);
}

/* By a child in between, which is part of the job. */
static void grandchild(void)
{
	char text[80];

	snprintf(text, sizeof(text), "cr_checkpoint -q -f ctx %d; echo in between $?", (int)getpid());
	say("status", system(text));
}

static void in_group(void)
{
	pid_t pid;

	pid = command(-1);
	setpgid(pid, pid);
	say("status", status_of(pid));
	say("no more", wait(NULL));
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{ "handler", plain_handler }, { "restarting-handler", restarting_handler }, { "system", by_system },
	{ "spawn", by_spawn }, { "sigsuspend", by_sigsuspend }, { "sigwait", by_sigwait }, { "signalfd", by_signalfd },
	{ "waitid", by_waitid }, { "pipe", by_pipe }, { "fifo", by_fifo }, { "pidfd", by_pidfd }, { "ignored", ignored },
	{ "unwanted", unwanted }, { "grandchild", grandchild }, { "group", in_group },
};

int main(int argc, char **argv)
{
	unsigned int i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (argc < 2) {
			puts(ways[i].name);
		} else if (!strcmp(argv[1], ways[i].name)) {
			ways[i].run();
			return 0;
		}
	}
	return argc > 1;
}
