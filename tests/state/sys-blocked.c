// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads in system calls without a timeout: none of them returns because of a checkpoint or a
 * restart, and each ends as it should by what it waits for.  With a case, the one call alone.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct call;
struct call {
	const char *name;
	long (*run)(struct call *c);		/* the call, once; -1 and errno as it gives them */
	void (*wake)(struct call *c);
	long expected;				/* result when woken; -1: EINTR after a signal handler */
	pthread_t thread;
	bool selected;
	int pipe[2];
	uint32_t word;
	long rc;
	int error;
	atomic_bool woken, early;		/* @early: came back without having been woken */
};

static atomic_int handled;
static pid_t main_tid;

static void on_signal(int sig)
{
	(void)sig;
	handled++;
}

static void wake_pipe(struct call *c)
{
	CRT_SYS(write(c->pipe[1], "x", 1));
}

static void wake_signal(struct call *c)
{
	pthread_kill(c->thread, SIGUSR1);
}

static long run_read(struct call *c)
{
	char byte;

	return read(c->pipe[0], &byte, 1);
}

static long run_poll(struct call *c)
{
	struct pollfd p = { .fd = c->pipe[0], .events = POLLIN };

	return poll(&p, 1, -1);
}

static long run_select(struct call *c)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(c->pipe[0], &set);
	return select(c->pipe[0] + 1, &set, NULL, NULL, NULL);
}

static long run_epoll(struct call *c)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 0x1122334455667788 };
	int fd = epoll_create1(0);
	long rc;

	epoll_ctl(fd, EPOLL_CTL_ADD, c->pipe[0], &event);
	event.data.u64 = 0;
	rc = epoll_wait(fd, &event, 1, -1);
	return rc == 1 && event.data.u64 != 0x1122334455667788 ? -2 : rc;
}

static long run_futex(struct call *c)
{
	return syscall(SYS_futex, &c->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void wake_futex(struct call *c)
{
	c->word = 1;
	syscall(SYS_futex, &c->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static long run_pause(struct call *c)
{
	(void)c;
	return pause();
}

static long run_sigsuspend(struct call *c)
{
	sigset_t usr1, block, empty, after;
	long rc;

	(void)c;
	sigemptyset(&empty);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigaddset(&usr1, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	block = empty;
	rc = sigsuspend(&block);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	if (!sigismember(&after, SIGUSR1) || !sigismember(&after, SIGUSR2))
		return -2;				/* the mask of before did not come back */
	return rc;
}

static long run_sigwaitinfo(struct call *c)
{
	sigset_t set;
	siginfo_t info;

	(void)c;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 2);
	return sigwaitinfo(&set, &info) == SIGRTMIN + 2 ? info.si_value.sival_int : -1;
}

static void wake_sigwaitinfo(struct call *c)
{
	pthread_sigqueue(c->thread, SIGRTMIN + 2, (union sigval){ .sival_int = 4711 });
}

static long run_accept(struct call *c)
{
	int fd = accept(c->pipe[0], NULL, NULL);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static void setup_listener(struct call *c)
{
	int one = 1;
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	c->pipe[0] = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	/* the connection of one restart lingers, and must not be in the way of the next */
	CRT_SYS(setsockopt(c->pipe[0], SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	CRT_SYS(bind(c->pipe[0], (struct sockaddr *)&any, sizeof(any)));
	CRT_SYS(listen(c->pipe[0], 5));
}

static void wake_accept(struct call *c)
{
	struct sockaddr_in name;
	socklen_t len = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CRT_SYS(getsockname(c->pipe[0], (struct sockaddr *)&name, &len));
	CRT_SYS(connect(fd, (struct sockaddr *)&name, len));
	close(fd);
}

static long run_eventfd(struct call *c)
{
	uint64_t value;

	return read(c->pipe[0], &value, sizeof(value)) == 8 ? (long)value : -1;
}

static void wake_eventfd(struct call *c)
{
	uint64_t value = 99;

	CRT_SYS(write(c->pipe[0], &value, sizeof(value)));
}

/* A full pipe: the call ends when somebody reads. */
static long run_write(struct call *c)
{
	return write(c->pipe[1], "y", 1);
}

static void wake_write(struct call *c)
{
	static char buf[1 << 16];

	CRT_SYS(read(c->pipe[0], buf, sizeof(buf)));
}

static struct call calls[] = {
	{ .name = "read", .run = run_read, .wake = wake_pipe, .expected = 1 },
	{ .name = "write", .run = run_write, .wake = wake_write, .expected = 1 },
	{ .name = "poll", .run = run_poll, .wake = wake_pipe, .expected = 1 },
	{ .name = "select", .run = run_select, .wake = wake_pipe, .expected = 1 },
	{ .name = "epoll_wait", .run = run_epoll, .wake = wake_pipe, .expected = 1 },
	{ .name = "futex", .run = run_futex, .wake = wake_futex, .expected = 0 },
	{ .name = "pause", .run = run_pause, .wake = wake_signal, .expected = -1 },
	{ .name = "sigsuspend", .run = run_sigsuspend, .wake = wake_signal, .expected = -1 },
	{ .name = "sigwaitinfo", .run = run_sigwaitinfo, .wake = wake_sigwaitinfo, .expected = 4711 },
	{ .name = "accept", .run = run_accept, .wake = wake_accept, .expected = 0 },
	{ .name = "eventfd", .run = run_eventfd, .wake = wake_eventfd, .expected = 99 },
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static void *thread_main(void *arg)
{
	struct call *c = arg;

	c->rc = c->run(c);
	c->error = errno;
	c->early = !c->woken;
	return NULL;
}

static void setup_call(struct call *c)
{
	static char fill[1 << 12];

	if (c->run == run_accept) {
		setup_listener(c);
	} else if (c->run == run_eventfd) {
		c->pipe[0] = (int)CRT_SYS(eventfd(0, 0));
	} else {
		CRT_SYS(pipe(c->pipe));
	}
	if (c->run == run_write) {
		fcntl(c->pipe[1], F_SETFL, O_NONBLOCK);
		while (write(c->pipe[1], fill, sizeof(fill)) > 0)
			;
		fcntl(c->pipe[1], F_SETFL, 0);
	}
}

static void setup(void)
{
	struct sigaction act = { .sa_handler = on_signal };
	int started = 0;
	sigset_t set;

	main_tid = gettid();
	sigaction(SIGUSR1, &act, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < CALLS; i++) {
		struct call *c = &calls[i];

		c->selected = !crt_case || !strcmp(crt_case, c->name);
		if (!c->selected)
			continue;
		setup_call(c);
		CRT_SYS(-pthread_create(&c->thread, NULL, thread_main, c));
		started++;
	}
	if (!started)
		crt_die("no call %s", crt_case);
	crt_sleep_ms(200);				/* all of them are in their calls */
}

static void verify(void)
{
	int signals = 0;

	for (size_t i = 0; i < CALLS; i++) {
		struct call *c = &calls[i];

		if (!c->selected)
			continue;
		c->woken = true;
		c->wake(c);
		pthread_join(c->thread, NULL);
		signals += c->wake == wake_signal;
		crt_ok(!c->early, "%s: does not return before it is woken", c->name);
		crt_same(c->rc, c->expected, "%s: result", c->name);
		if (c->rc == -1)
			crt_same_str(strerror(c->error), strerror(EINTR), "%s: error", c->name);
	}
	crt_same(handled, signals, "signal handlers ran as often as signals were sent");
}

const struct crt_test crt_test = {
	.text = "blocking system calls are not disturbed",
	.setup = setup,
	.verify = verify,
};
