// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files under way in messages (SCM_RIGHTS) that no process has open any more: what is not made together with the open file,
 * but later and by a process, is there when they arrive.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EPOLL, ITSELF, NESTED, TIMER, INOTIFY, OWNED, LOCKED, DESCRIBED, LEASED, PEER, COUNTER, SIGNALS, MEMORY, BESIDE, KINDS };

static int own_lock, ends[2], stream[2], counter, other_end, owned_end, watcher;
static pid_t child, peer_before;

static void pass(int to, int *fds, size_t count)
{
	char control[CMSG_SPACE(sizeof(int) * KINDS)] = "", byte = 'x';
	struct iovec vector = { &byte, 1 };
	struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control,
				 .msg_controllen = CMSG_SPACE(sizeof(int) * count) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&header);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int) * count);
	memcpy(CMSG_DATA(head), fds, sizeof(int) * count);
	CRT_SYS(sendmsg(to, &header, 0));
	for (size_t i = 0; i < count; i++)
		CRT_SYS(close(fds[i]));
}

static size_t receive(int from, int *fds)
{
	char control[CMSG_SPACE(sizeof(int) * KINDS)], byte;
	struct iovec vector = { &byte, 1 };
	struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control,
				 .msg_controllen = sizeof(control) };
	struct cmsghdr *head;
	size_t count;

	if (recvmsg(from, &header, MSG_DONTWAIT) != 1)
		return 0;
	head = CMSG_FIRSTHDR(&header);
	if (!head || head->cmsg_type != SCM_RIGHTS)
		return 0;
	count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(head), count * sizeof(int));
	return count;
}

static void watch(int set, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };

	CRT_SYS(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
}

/* What is ready, in the order of data, one bit for each. */
static unsigned int ready(int set)
{
	struct epoll_event events[16];
	unsigned int bits = 0;

	for (int n = epoll_wait(set, events, 16, 0); n > 0; n--)
		bits |= 1U << events[n - 1].data.u64;
	return bits;
}

/*
 * A counter that can be read; a pipe under the number of another one; an edge that has been reported; what is disarmed;
 * a process.
 */
static int epoll_of_many(void)
{
	int set = (int)CRT_SYS(epoll_create1(0)), fds[2], edge = (int)CRT_SYS(eventfd(1, 0));
	int once = (int)CRT_SYS(eventfd(1, 0)), process = (int)CRT_SYS(syscall(SYS_pidfd_open, child, 0));

	watch(set, counter, EPOLLIN, 0);
	CRT_SYS(pipe(fds));
	watch(set, fds[1], EPOLLOUT, 1);
	CRT_SYS(dup2(fds[1], 200));
	CRT_SYS(close(fds[1]));
	watch(set, edge, EPOLLIN | EPOLLET, 2);
	watch(set, once, EPOLLIN | EPOLLONESHOT, 3);
	if (ready(set) != 0xf)
		crt_die("not all that is watched is ready");
	watch(set, process, EPOLLIN, 4);
	return set;
}

static int timer(void)
{
	struct itimerspec when = { .it_value.tv_sec = 1000, .it_interval.tv_sec = 7 };
	int fd = (int)CRT_SYS(timerfd_create(CLOCK_MONOTONIC, 0));

	CRT_SYS(timerfd_settime(fd, 0, &when, NULL));
	return fd;
}

static int watches(void)
{
	int fd = (int)CRT_SYS(inotify_init1(IN_NONBLOCK));

	CRT_SYS(mkdir(crt_path("watched"), 0755));
	CRT_SYS(inotify_add_watch(fd, crt_path("watched"), IN_CREATE));
	return fd;
}

static int owned(void)
{
	int fds[2];

	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	CRT_SYS(fcntl(fds[0], F_SETOWN, getpid()));
	CRT_SYS(fcntl(fds[0], F_SETSIG, SIGUSR1));
	CRT_SYS(fcntl(fds[0], F_SETFL, O_ASYNC | O_NONBLOCK));
	owned_end = fds[1];
	return fds[0];
}

static int locked(const char *name)
{
	return (int)CRT_SYS(open(crt_make_file(name, 100, 1), O_RDWR));
}

static struct flock range(short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = 10, .l_len = 10 };
}

static int with_peer(void)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int fds[2];

	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	CRT_SYS(getsockopt(fds[0], SOL_SOCKET, SO_PEERCRED, &peer, &len));
	peer_before = peer.pid;
	other_end = fds[1];
	return fds[0];
}

static int signals(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, SIGUSR2);
	CRT_SYS(sigprocmask(SIG_BLOCK, &mask, NULL));
	return (int)CRT_SYS(signalfd(-1, &mask, SFD_NONBLOCK));
}

static int memory(void)
{
	int fd = (int)CRT_SYS(memfd_create("passed", MFD_ALLOW_SEALING));

	CRT_SYS(write(fd, "bytes", 5));
	CRT_SYS(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
	return fd;
}

static void setup(void)
{
	struct flock lock = range(F_WRLCK);
	int fds[KINDS], inner;

	child = (pid_t)CRT_SYS(fork());
	if (!child)
		for (;;)
			pause();
	counter = (int)CRT_SYS(eventfd(1, 0));
	CRT_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, stream));
	fds[SIGNALS] = signals();
	fds[EPOLL] = epoll_of_many();
	fds[ITSELF] = (int)CRT_SYS(epoll_create1(0));
	watch(fds[ITSELF], ends[1], EPOLLIN, 5);
	fds[NESTED] = (int)CRT_SYS(epoll_create1(0));
	inner = (int)CRT_SYS(epoll_create1(0));
	watch(inner, counter, EPOLLIN, 6);
	watch(fds[NESTED], inner, EPOLLIN, 7);
	fds[TIMER] = timer();
	fds[INOTIFY] = watches();
	fds[OWNED] = owned();
	fds[LOCKED] = locked("locked");
	CRT_SYS(flock(fds[LOCKED], LOCK_EX));
	fds[DESCRIBED] = locked("described");
	CRT_SYS(fcntl(fds[DESCRIBED], F_OFD_SETLK, &lock));
	fds[LEASED] = locked("leased");
	CRT_SYS(fcntl(fds[LEASED], F_SETLEASE, F_WRLCK));
	fds[PEER] = with_peer();
	fds[COUNTER] = (int)CRT_SYS(eventfd(42, 0));
	fds[MEMORY] = memory();
	own_lock = locked("own");
	fds[BESIDE] = (int)CRT_SYS(open(crt_path("own"), O_RDWR));
	pass(stream[0], &inner, 1);
	pass(ends[0], fds, KINDS);
	CRT_SYS(fcntl(own_lock, F_SETLK, &lock)); /* which a close would have taken away */
	/* A message in a socket in a message. */
	watcher = (int)CRT_SYS(epoll_create1(0));
	watch(watcher, counter, EPOLLIN, 8);
	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	pass(fds[0], &watcher, 1);
	pass(stream[0], &fds[1], 1);
}

static void verify_epolls(const int *fds)
{
	int inner, within, deepest;

	crt_same(ready(fds[EPOLL]), 0x3, "epoll: what is ready, without what has been reported");
	crt_same(ready(fds[ITSELF]), 0, "epoll: of the socket that it was in, which is empty now");
	CRT_SYS(send(ends[0], "x", 1, 0));
	crt_same(ready(fds[ITSELF]), 1 << 5, "and now has something");
	crt_same(ready(fds[NESTED]), 1 << 7, "epoll: of one that is under way, too");
	if (crt_same((long long)receive(stream[1], &inner), 1, "which comes"))
		crt_same(ready(inner), 1 << 6, "with what it watches");
	if (crt_same((long long)receive(stream[1], &within), 1, "a socket with a message") &&
	    crt_same((long long)receive(within, &deepest), 1, "with an epoll"))
		crt_same(ready(deepest), 1 << 8, "with what it watches");
	kill(child, SIGKILL);
	waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	crt_same(ready(fds[EPOLL]), 0x13, "epoll: and the end of a process");
}

static void verify_locks(const int *fds)
{
	struct flock lock = range(F_WRLCK);
	int fd = (int)CRT_SYS(open(crt_path("locked"), O_RDWR));

	crt_same(flock(fd, LOCK_SH | LOCK_NB), -1, "flock(2) is held");
	crt_same(flock(fds[LOCKED], LOCK_UN), 0, "by that file");
	crt_same(flock(fd, LOCK_SH | LOCK_NB), 0, "only");
	close(fd);
	fd = (int)CRT_SYS(open(crt_path("described"), O_RDWR));
	crt_same(fcntl(fd, F_OFD_SETLK, &lock), -1, "a lock of the open file description is held");
	close(fd);
	crt_same(fcntl(fds[BESIDE], F_OFD_GETLK, &lock), 0, "another open file of one that the process has locked:");
	crt_ok(lock.l_type == F_WRLCK && lock.l_pid == getpid(), "it still has");
	crt_same(fcntl(fds[LEASED], F_GETLEASE), F_WRLCK, "a lease");
}

static void verify_timer(int fd)
{
	struct itimerspec left;

	CRT_SYS(timerfd_gettime(fd, &left));
	crt_ok(left.it_value.tv_sec > 800 && left.it_value.tv_sec < 1000, "timerfd: it runs (%ld s left)",
	       (long)left.it_value.tv_sec);
	crt_same(left.it_interval.tv_sec, 7, "with its interval");
}

static void verify_inotify(int fd)
{
	struct inotify_event event;
	char buf[sizeof(event) + 256];

	crt_same(read(fd, buf, sizeof(buf)), -1, "inotify: nothing has come");
	CRT_SYS(close((int)CRT_SYS(open(crt_path("watched/new"), O_CREAT | O_WRONLY, 0600))));
	crt_ok(read(fd, buf, sizeof(buf)) > 0, "but what is made now");
	CRT_SYS(unlink(crt_path("watched/new")));
}

static void verify_owner(int fd, int signals_fd)
{
	struct signalfd_siginfo info = { 0 };

	crt_same(fcntl(fd, F_GETOWN), getpid(), "the owner of a socket");
	crt_same(fcntl(fd, F_GETSIG), SIGUSR1, "its signal");
	crt_same(fcntl(fd, F_GETFL), O_RDWR | O_ASYNC | O_NONBLOCK, "O_ASYNC");
	CRT_SYS(write(owned_end, "x", 1));
	CRT_SYS(read(signals_fd, &info, sizeof(info)));
	crt_same(info.ssi_signo, SIGUSR1, "the signal comes, and a signalfd has it");
}

static void verify(void)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	int fds[KINDS];
	uint64_t count = 0;
	char buf[8] = "";

	if (!crt_same((long long)receive(ends[1], fds), KINDS, "all have come"))
		return;
	verify_epolls(fds);
	verify_locks(fds);
	verify_timer(fds[TIMER]);
	verify_inotify(fds[INOTIFY]);
	verify_owner(fds[OWNED], fds[SIGNALS]);
	CRT_SYS(getsockopt(fds[PEER], SOL_SOCKET, SO_PEERCRED, &peer, &len));
	crt_same(peer.pid, peer_before, "SO_PEERCRED of a socket");
	CRT_SYS(getsockopt(other_end, SOL_SOCKET, SO_PEERCRED, &peer, &len));
	crt_same(peer.pid, peer_before, "and of its other end");
	crt_same(read(fds[COUNTER], &count, sizeof(count)), 8, "an eventfd");
	crt_same((long long)count, 42, "its count");
	crt_same(pread(fds[MEMORY], buf, sizeof(buf), 0), 5, "a memfd");
	crt_same(fcntl(fds[MEMORY], F_GET_SEALS), F_SEAL_SHRINK, "its seals");
	waitpid(child, NULL, 0);
}

const struct crt_test crt_test = {
	.text = "files in messages that no process has open",
	.setup = setup,
	.verify = verify,
};
