// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process that strace(1) follows, asleep in calls of which each begin and each end is a stop: it is let go from one to the next at
 * once.  A checkpoint has it, or says that it is traced, and either way its calls end as if nothing had been.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/utsname.h>

#include "check.h"

#define ROUNDS 10

struct counts {
	volatile pid_t traced;
	volatile unsigned long stops; /* at a call */
	volatile unsigned long done, failed; /* calls */
};

static struct counts *counts;
static pid_t tracer;
static int ends[2];
static char *text;

static void read_for_ever(void)
{
	char byte;

	for (;;)
		if (read(ends[0], &byte, 1) == 1)
			counts->done++;
		else
			counts->failed++;
}

/* Not one that the kernel makes again by itself when a signal has interrupted it. */
static void wait_for_ever(void)
{
	const int epoll = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	char byte;

	epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
	for (;;)
		if (epoll_wait(epoll, &event, 1, -1) == 1 && read(ends[0], &byte, 1) == 1)
			counts->done++;
		else
			counts->failed++;
}

static void follow(void)
{
	int status, signal;

	if (ptrace(PTRACE_SEIZE, counts->traced, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))
		_exit(1);
	ptrace(PTRACE_INTERRUPT, counts->traced, NULL, NULL);
	while (waitpid(counts->traced, &status, 0) > 0 && WIFSTOPPED(status)) {
		signal = WSTOPSIG(status);
		if (signal == (SIGTRAP | 0x80))
			counts->stops++;
		if (status >> 16 || signal == (SIGTRAP | 0x80))
			signal = 0;
		ptrace(PTRACE_SYSCALL, counts->traced, NULL, (long)signal);
	}
	_exit(0);
}

static void start(void (*job)(void))
{
	memset(counts, 0, sizeof(*counts));
	if (pipe(ends))
		exit(1);
	/* What being seized has ended is over before the job begins. */
	tracer = fork();
	if (tracer == 0) {
		const pid_t child = fork();

		if (child == 0) {
			while (counts->stops < 3)
				pause_ms(5);
			job();
		}
		counts->traced = child;
		follow();
	}
	alarm(60);
	for (unsigned long before = 0; counts->stops < 3 || counts->stops != before;) {
		before = counts->stops;
		pause_ms(200);
	}
	alarm(0);
}

static void end(void)
{
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	close(ends[0]);
	close(ends[1]);
}

static int request(unsigned int flags)
{
	cr_checkpoint_args_t args;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_target = counts->traced;
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_timeout = 20;
	args.cr_flags = flags;
	free(text);
	text = NULL;
	return checkpoint_with("a", &args, &text);
}

/* One call ends because it has what it waits for. */
static bool answers(void)
{
	const unsigned long before = counts->done;

	if (write(ends[1], "", 1) != 1)
		return false;
	for (int i = 0; i < 2000 && counts->done == before; i++)
		pause_ms(5);
	return counts->done == before + 1;
}

static void rounds(const char *call, void (*job)(void), unsigned int flags, int wanted, const char *what)
{
	int good = 0, answered = 0;

	start(job);
	for (int i = 0; i < ROUNDS; i++) {
		good += request(flags) == wanted;
		answered += answers();
	}
	is(good, ROUNDS, what);
	if (good != ROUNDS && text)
		printf("# %s\n", text);
	is(answered, ROUNDS, "... it goes on each time");
	ok(counts->failed == 0, "... and no %s ends for it: %lu", call, counts->failed);
	end();
}

/* On aarch64 nobody is at rest at a tracer's stop, where a register is not the program's: see cryo-limits(7). */
static bool can_be_allowed(void)
{
	struct utsname name;

	return !uname(&name) && strcmp(name.machine, "aarch64");
}

int main(void)
{
	const bool allowed = can_be_allowed();

	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return 1;
	if (allowed)
		rounds("read()", read_for_ever, CR_CHKPT_PTRACED_ALLOW, 0, "read(), with CR_CHKPT_PTRACED_ALLOW: there is a context");
	rounds("read()", read_for_ever, 0, CR_EPTRACED, "read(), without: CR_EPTRACED");
	if (allowed)
		rounds("epoll_wait()", wait_for_ever, CR_CHKPT_PTRACED_ALLOW, 0, "epoll_wait(), with it: there is a context");
	rounds("epoll_wait()", wait_for_ever, 0, CR_EPTRACED, "epoll_wait(), without: CR_EPTRACED");
	return finish();
}
