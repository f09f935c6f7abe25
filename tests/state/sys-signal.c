// SPDX-License-Identifier: GPL-2.0-only
/*
 * A signal that is pending in the moment of a restart ends the system call that the process is in, or does not, as it would
 * have without: with EINTR where the call or the handler wants it so.  One process for each call; cr_restart sends the signal.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONG_S 10000
#define LIMIT_MS 5000

static const struct timespec long_time = { .tv_sec = LONG_S };

/* What a process and its parent have in common. */
struct child {
	atomic_int begun, ended, handled;
	atomic_uint word;
	long result;
	int error;
	pid_t pid;
	int pipe[2];
};

static struct child *self;

static long do_pause(void)
{
	return ppoll(NULL, 0, NULL, NULL);
}

static long do_poll(void)
{
	struct pollfd p = { .fd = self->pipe[0], .events = POLLIN };

	return poll(&p, 1, LONG_S * 1000);
}

static long do_sigsuspend(void)
{
	sigset_t none;

	sigemptyset(&none);
	return sigsuspend(&none);
}

static long do_nanosleep(void)
{
	return nanosleep(&long_time, NULL);
}

static long do_absolute(void)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += LONG_S;
	errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
	return errno ? -1 : 0;
}

static long do_futex(void)
{
	return syscall(SYS_futex, &self->word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static long do_futex_timed(void)
{
	return syscall(SYS_futex, &self->word, FUTEX_WAIT, 0, &long_time, NULL, 0);
}

static long do_read(void)
{
	char c;

	return read(self->pipe[0], &c, 1);
}

static long do_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, self->pipe[0], &event);
	return epoll_wait(fd, &event, 1, LONG_S * 1000);
}

static long do_sigtimedwait(void)
{
	sigset_t other;

	sigemptyset(&other);
	sigaddset(&other, SIGUSR2);
	sigprocmask(SIG_BLOCK, &other, NULL);
	return sigtimedwait(&other, NULL, &long_time);
}

static long do_recv(void)
{
	int pair[2];
	char c;

	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	return recv(pair[0], &c, 1, 0);
}

static long do_accept(void)
{
	struct sockaddr_un any = { .sun_family = AF_UNIX };
	int fd = (int)CRT_SYS(socket(AF_UNIX, SOCK_STREAM, 0));

	CRT_SYS(bind(fd, (struct sockaddr *)&any, sizeof(any.sun_family)));
	CRT_SYS(listen(fd, 1));
	return accept(fd, NULL, NULL);
}

static const struct call {
	const char *name;
	long (*make)(void);
	int flags;			/* of the handler */
	bool again;			/* the call goes on, until it has what it waits for */
} calls[] = {
	{ "pause", do_pause, SA_RESTART, false },
	{ "poll", do_poll, SA_RESTART, false },
	{ "sigsuspend", do_sigsuspend, SA_RESTART, false },
	{ "nanosleep", do_nanosleep, SA_RESTART, false },
	{ "clock_nanosleep, absolute", do_absolute, SA_RESTART, false },
	{ "futex", do_futex, 0, false },
	{ "futex, SA_RESTART", do_futex, SA_RESTART, true },
	{ "futex, timed", do_futex_timed, SA_RESTART, false },
	{ "read", do_read, 0, false },
	{ "read, SA_RESTART", do_read, SA_RESTART, true },
	{ "epoll_wait", do_epoll, SA_RESTART, false },
	{ "sigtimedwait", do_sigtimedwait, SA_RESTART, false },
	{ "recv", do_recv, 0, false },
	{ "accept", do_accept, 0, false },
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static struct child *children;
static volatile sig_atomic_t from_restart;

static void on_parent(int sig)
{
	(void)sig;
	from_restart = 1;
}

static void on_child(int sig)
{
	(void)sig;
	self->handled++;
}

static void child_main(const struct call *call)
{
	struct sigaction action = { .sa_handler = on_child, .sa_flags = call->flags };

	CRT_SYS(sigaction(SIGUSR1, &action, NULL));
	self->begun = 1;
	self->result = call->make();
	self->error = errno;
	self->ended = 1;
	_exit(0);
}

static bool until(atomic_int *what)
{
	for (int i = 0; i < LIMIT_MS / 10 && !*what; i++)
		crt_sleep_ms(10);
	return *what;
}

/* So that nothing is between it and its call. */
static bool sleeps(pid_t pid)
{
	char path[64], stat[512];
	const char *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	crt_slurp(path, stat, sizeof(stat));
	state = strrchr(stat, ')');
	return state && state[2] == 'S';
}

static void begin(unsigned int i)
{
	struct child *child = &children[i];
	pid_t pid;

	CRT_SYS(pipe(child->pipe));
	pid = (pid_t)CRT_SYS(fork());
	if (!pid) {
		self = child;
		child_main(&calls[i]);
	}
	child->pid = pid;
	until(&child->begun);
	while (!sleeps(child->pid))
		crt_sleep_ms(10);
}

static void setup(void)
{
	signal(SIGUSR1, on_parent);
	children = CRT_MAP(mmap(NULL, CALLS * sizeof(*children), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	for (unsigned int i = 0; i < CALLS; i++)
		begin(i);
}

static void check_ended(const struct call *call, struct child *child)
{
	if (!crt_ok(until(&child->ended), "%s has ended", call->name))
		return;
	crt_ok(child->result == -1 && child->error == EINTR, "... with EINTR (%ld, %s)", child->result,
	       strerror(child->error));
}

static void check_going_on(const struct call *call, struct child *child)
{
	crt_ok(until(&child->handled) && !child->ended, "%s goes on", call->name);
	child->word = 1;
	syscall(SYS_futex, &child->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	CRT_SYS(write(child->pipe[1], "x", 1));
	/* EAGAIN: what a futex waits for has come between the handler and the call. */
	crt_ok(until(&child->ended) && (child->result >= 0 || child->error == EAGAIN),
	       "... until it has what it waits for (%ld, %s)", child->result, strerror(child->error));
}

static void verify(void)
{
	for (unsigned int i = 0; i < CALLS && !from_restart; i++)
		CRT_SYS(kill(children[i].pid, SIGUSR1));
	for (unsigned int i = 0; i < CALLS; i++) {
		if (calls[i].again)
			check_going_on(&calls[i], &children[i]);
		else
			check_ended(&calls[i], &children[i]);
		crt_same(children[i].handled, 1, "... and its handler has run");
		kill(children[i].pid, SIGKILL);
		waitpid(children[i].pid, NULL, 0);
	}
}

const struct crt_test crt_test = {
	.text = "a signal that is pending ends a call, or does not, as ever",
	.setup = setup,
	.verify = verify,
	.restart_args = "--signal 10",	/* SIGUSR1 */
};
