// SPDX-License-Identifier: GPL-2.0-only
/* Where a debugger is at work: what a checkpoint says of it, and without whom it is made. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "check.h"

static pid_t tracer, traced;
static char *text;
static volatile unsigned int interrupted; /* in the child that is traced: calls that ended with EINTR */
static volatile unsigned int standing; /* in the tracer: how often it has had the child stand before a call */

/* Waits that the kernel does not restart by itself. */
static void wait_for_ever(void)
{
	struct epoll_event event;
	const int epoll = epoll_create1(0);

	for (;;)
		if (epoll_wait(epoll, &event, 1, 100) != 0)
			interrupted++;
}

static unsigned int read_from(pid_t pid, volatile unsigned int *at)
{
	unsigned int count = ~0U;
	struct iovec here = { &count, sizeof(count) }, there = { (void *)at, sizeof(count) };

	process_vm_readv(pid, &here, 1, &there, 1, 0);
	return count;
}

static unsigned int times_interrupted(void)
{
	return read_from(traced, &interrupted);
}

static void stop_it(void)
{
	const unsigned int before = read_from(tracer, &standing);

	kill(tracer, SIGUSR1);
	while (read_from(tracer, &standing) == before)
		pause_ms(5);
}

/* In the tracer: the child stands before a system call from SIGUSR1 on, and goes on at SIGUSR2. */
static void trace(void)
{
	sigset_t set;
	int signal;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	ptrace(PTRACE_SEIZE, traced, NULL, PTRACE_O_TRACESYSGOOD);
	for (;;) {
		sigwait(&set, &signal);
		if (signal == SIGUSR1) {
			ptrace(PTRACE_INTERRUPT, traced, NULL, NULL);
			waitpid(traced, NULL, 0);
			ptrace(PTRACE_SYSCALL, traced, NULL, NULL);
			waitpid(traced, NULL, 0);
			standing++;
		} else {
			ptrace(PTRACE_CONT, traced, NULL, NULL);
		}
	}
}

/* A child of ours that traces a child of its own, which runs. */
static void start(void)
{
	pid_t pids[2];
	sigset_t set;
	int fds[2];

	if (pipe(fds))
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	tracer = fork();
	if (tracer == 0) {
		setpgid(0, 0);
		traced = fork();
		if (traced == 0)
			wait_for_ever();
		pids[0] = getpid();
		pids[1] = traced;
		write(fds[1], pids, sizeof(pids));
		trace();
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	if (read(fds[0], pids, sizeof(pids)) != sizeof(pids))
		return;
	traced = pids[1];
	close(fds[0]);
	close(fds[1]);
}

static int request(pid_t target, cr_scope_t scope, unsigned int flags)
{
	cr_checkpoint_args_t args;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_target = target;
	args.cr_scope = scope;
	args.cr_flags = flags;
	free(text);
	text = NULL;
	return checkpoint_with("a", &args, &text);
}

static int processes(void)
{
	return system("exit $(cr_info a | grep -c '^process ')") >> 8;
}

static int command(const char *options, pid_t target)
{
	char text[200];

	snprintf(text, sizeof(text), "cr_checkpoint -q --clobber -f a %s %d", options, (int)target);
	return system(text) >> 8;
}

static void library(void)
{
	is(request(traced, CR_SCOPE_PROC, 0), CR_EPTRACED, "a process that is traced: CR_EPTRACED");
	is(request(traced, CR_SCOPE_PROC, CR_CHKPT_PTRACED_ALLOW), 0, "with CR_CHKPT_PTRACED_ALLOW it is well");
	is(request(traced, CR_SCOPE_PROC, CR_CHKPT_PTRACED_SKIP), ESRCH, "with CR_CHKPT_PTRACED_SKIP there is none");
	ok(text && strstr(text, "is traced (ptrace) and skipped, and no other process is in scope"), "said so");
	is(request(traced, CR_SCOPE_PROC, CR_CHKPT_PTRACED_ALLOW | CR_CHKPT_PTRACED_SKIP), EINVAL, "with both: EINVAL");
	is(request(tracer, CR_SCOPE_PROC, 0), CR_EPTRACER, "a process that traces another: CR_EPTRACER");
	is(request(tracer, CR_SCOPE_PROC, CR_CHKPT_PTRACER_SKIP), ESRCH, "with CR_CHKPT_PTRACER_SKIP there is none");
	is(request(0, CR_SCOPE_TREE, 0), CR_EPTRACED, "a tree with both: CR_EPTRACED");
	is(request(0, CR_SCOPE_TREE, CR_CHKPT_PTRACED_ALLOW), CR_EPTRACER, "with CR_CHKPT_PTRACED_ALLOW: CR_EPTRACER");
	is(request(0, CR_SCOPE_TREE, CR_CHKPT_PTRACED_SKIP), CR_EPTRACER, "so it is with CR_CHKPT_PTRACED_SKIP");
	is(request(0, CR_SCOPE_TREE, CR_CHKPT_PTRACER_SKIP), 0, "with CR_CHKPT_PTRACER_SKIP it is well");
	is(processes(), 1, "without the tracer, and its child");
}

/* As a shell starts strace: the tracer leads the group. */
static void group(void)
{
	is(request(tracer, CR_SCOPE_PGRP, CR_CHKPT_PTRACED_ALLOW), CR_EPTRACER, "the group: CR_EPTRACER");
	is(request(tracer, CR_SCOPE_PGRP, CR_CHKPT_PTRACED_ALLOW | CR_CHKPT_PTRACER_SKIP), 0, "with CR_CHKPT_PTRACER_SKIP it is well");
	is(processes(), 1, "without the tracer");
	is(request(tracer, CR_SCOPE_PGRP, CR_CHKPT_PTRACED_SKIP | CR_CHKPT_PTRACER_SKIP), ESRCH, "without both there is none");
	ok(text && strstr(text, "is traced (ptrace) and skipped, and no other process is in scope"), "said so");
}

static void tool(void)
{
	is(command("-p", traced), 56, "cr_checkpoint: exit status 56");
	is(command("-p --ptraced-error", traced), 56, "... with --ptraced-error as well");
	is(command("-p --ptraced-allow", traced), 0, "... --ptraced-allow");
	is(command("-p --ptraced-skip", traced), 3, "... --ptraced-skip: nobody is left");
	is(command("-p", tracer), 57, "cr_checkpoint of a tracer: exit status 57");
	is(command("-p --ptracer-error", tracer), 57, "... with --ptracer-error as well");
	is(command("--ptraced-skip", tracer), 57, "... of its tree, with --ptraced-skip");
	is(command("--ptracer-skip", getpid()), 0, "... of its parent's tree, with --ptracer-skip");
	is(processes(), 3, "that is the parent, the command's shell, and what stands in for the command");
}

static void wait_until_asleep(void)
{
	char path[40], line[400];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)traced);
	for (line[0] = 0; !strstr(line, ") S ");) {
		pause_ms(10);
		file = fopen(path, "r");
		if (!file || !fgets(line, sizeof(line), file))
			return;
		fclose(file);
	}
}

/* It may be about to make the system call, whatever is captured meanwhile. */
static void stopped(void)
{
	const unsigned int before = times_interrupted();
	char text_of[200];

	wait_until_asleep();
	stop_it();
	is(request(traced, CR_SCOPE_PROC, 0), CR_EPTRACED, "stopped by its tracer: CR_EPTRACED");
	ok(text && strstr(text, "is being traced (ptrace), and stopped by its tracer"), "said so");
	is(command("-p", traced), 56, "cr_checkpoint: exit status 56");
	kill(tracer, SIGUSR2);
	wait_until_asleep();
	pause_ms(300);
	ok(times_interrupted() - before <= 1, "its call does not end with EINTR for that, but for its tracer only");
	stop_it();
	snprintf(text_of, sizeof(text_of), "cr_checkpoint -p --ptraced-allow --time=1 -f a --clobber %d 2>err", (int)traced);
	ok(system(text_of) != 0, "with --ptraced-allow it is waited for");
	ok(!system("grep -q 'cannot be frozen: state t (stopped by its tracer)' err"), "said so");
	snprintf(text_of, sizeof(text_of), "(sleep 1; kill -USR2 %d) & cr_checkpoint -p --ptraced-allow -f a --clobber %d", (int)tracer, (int)traced);
	is(system(text_of), 0, "until the tracer lets it go");
}

int main(void)
{
	start();
	library();
	tool();
	stopped();
	group();
	kill(traced, SIGKILL);
	kill(tracer, SIGKILL);
	return finish();
}
