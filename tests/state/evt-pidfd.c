// SPDX-License-Identifier: GPL-2.0-only
/*
 * pidfds: of oneself, of a child, of one that has exited, of one that has been waited for; in epoll sets,
 * and as one open file of two processes.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OF_PIDFD	3	/* P_PIDFD */

static int self_fd, child_fd, zombie_fd, gone_fd, set, end_child, to_server[2], to_parent[2];
static pid_t child, server;

static int open_pidfd(pid_t pid)
{
	return (int)CRT_SYS(syscall(SYS_pidfd_open, pid, 0));
}

static void watch(int epoll, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };

	CRT_SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
}

/* Has the pidfds of its parent; the child's is only in its epoll set. */
static void serve(void)
{
	struct epoll_event event = { 0 };
	char what;

	close(to_server[1]);
	close(to_parent[0]);
	close(end_child);
	set = (int)CRT_SYS(epoll_create1(0));
	watch(set, child_fd, EPOLLIN, 77);
	close(child_fd);
	CRT_SYS(write(to_parent[1], "r", 1));
	while (read(to_server[0], &what, 1) == 1) {
		if (what == 'b')	/* of the open file, not of the descriptor */
			what = fcntl(self_fd, F_GETFL) & O_NONBLOCK && !fcntl(self_fd, F_SETFL, 0) ? 'B' : '-';
		if (what == 's')
			what = !syscall(SYS_pidfd_send_signal, self_fd, SIGWINCH, NULL, 0) ? 'S' : '-';
		if (what == 'e')
			what = epoll_wait(set, &event, 1, 0) == 1 && event.data.u64 == 77 ? 'E' : '0';
		CRT_SYS(write(to_parent[1], &what, 1));
	}
	_exit(7);
}

static bool ask(char what, char answer)
{
	char got = 0;

	return write(to_server[1], &what, 1) == 1 && read(to_parent[0], &got, 1) == 1 && got == answer;
}

/* One that ends with a status, @end being closed before, if there is one. */
static pid_t start(int status, int *end)
{
	pid_t pid = (pid_t)CRT_SYS(fork());
	char c;

	if (pid)
		return pid;
	if (end) {
		close(end[1]);
		(void)!read(end[0], &c, 1);
	}
	_exit(status);
}

static void setup(void)
{
	siginfo_t info;
	int end[2];
	pid_t pid;
	char c;

	CRT_SYS(pipe(end));
	CRT_SYS(pipe(to_server));
	CRT_SYS(pipe(to_parent));
	self_fd = open_pidfd(getpid());
	CRT_SYS(fcntl(self_fd, F_SETFL, O_NONBLOCK));
	child = start(3, end);
	close(end[0]);
	end_child = end[1];
	child_fd = open_pidfd(child);
	server = (pid_t)CRT_SYS(fork());
	if (!server)
		serve();
	CRT_SYS(close(to_server[0]));
	CRT_SYS(close(to_parent[1]));
	CRT_SYS(read(to_parent[0], &c, 1));
	pid = start(5, NULL);
	zombie_fd = open_pidfd(pid);
	CRT_SYS(waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	pid = start(6, NULL);
	gone_fd = open_pidfd(pid);
	CRT_SYS(waitpid(pid, NULL, 0));
	set = (int)CRT_SYS(epoll_create1(0));
	watch(set, self_fd, EPOLLIN, 1);
	watch(set, child_fd, EPOLLIN | EPOLLET, 2);
	watch(set, zombie_fd, EPOLLIN, 3);
	watch(set, gone_fd, EPOLLIN, 4);
}

static int pid_of(int fd)
{
	char path[64], text[1024], *line;
	int pid = -2;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	crt_slurp(path, text, sizeof(text));
	line = strstr(text, "Pid:");
	if (line)
		sscanf(line, "Pid: %d", &pid);
	return pid;
}

/* The watched ones that have ended, a bit each. */
static unsigned int ended(int timeout)
{
	struct epoll_event events[8];
	unsigned int bits = 0;
	int n = epoll_wait(set, events, 8, timeout);

	for (int i = 0; i < n; i++)
		bits |= 1U << events[i].data.u64;
	return bits;
}

static int status_of(int fd, int options)
{
	siginfo_t info = { 0 };

	return waitid(OF_PIDFD, (id_t)fd, &info, WEXITED | options) ? -errno : info.si_status;
}

static void verify(void)
{
	struct pollfd poll_child = { .fd = child_fd, .events = POLLIN };

	signal(SIGWINCH, SIG_IGN);
	crt_same(pid_of(self_fd), getpid(), "of oneself");
	crt_same(pid_of(child_fd), child, "of a child");
	crt_same(pid_of(gone_fd), -1, "of one that has been waited for");
	crt_same(fcntl(child_fd, F_GETFD), FD_CLOEXEC, "closed by exec()");
	crt_same(ended(0), 1 << 3 | 1 << 4, "epoll knows who has ended");
	crt_ok(syscall(SYS_pidfd_send_signal, gone_fd, 0, NULL, 0) == -1 && errno == ESRCH, "no signal for the dead");
	crt_same(status_of(zombie_fd, WNOWAIT), 5, "status of the one that nobody has waited for");
	crt_ok(ask('s', 'S'), "another process sends a signal by the pidfd that it shares");
	crt_same(fcntl(self_fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK, "PIDFD_NONBLOCK");
	crt_same(fcntl(child_fd, F_GETFL) & O_NONBLOCK, 0, "of that one alone");
	crt_ok(ask('b', 'B'), "the other process has it too, and removes it");
	crt_same(fcntl(self_fd, F_GETFL) & O_NONBLOCK, 0, "from the open file of both");
	crt_ok(ask('e', '0'), "its epoll set says that the child lives");
	CRT_SYS(close(end_child));
	crt_same(poll(&poll_child, 1, 30000), 1, "the child ends, and its pidfd tells so");
	crt_ok(ended(0) & 1 << 2, "to the epoll set");
	crt_ok(ask('e', 'E'), "and to that of the other process, which has closed its descriptor");
	crt_same(status_of(child_fd, 0), 3, "waited for by its pidfd");
	CRT_SYS(close(to_server[1]));
	CRT_SYS(waitpid(server, NULL, 0));
}

const struct crt_test crt_test = {
	.text = "pidfds",
	.setup = setup,
	.verify = verify,
};
