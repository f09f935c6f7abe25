// SPDX-License-Identifier: GPL-2.0-only
/* Who gets the signals of an open file (a process, a thread, a group), O_ASYNC, and leases. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static int by_process, by_thread, by_group, signal_only;
static int ends[2];			/* a pipe that tells of its data */
static int read_lease, write_lease;
static pid_t tid;
static atomic_int told, told_to, told_fd;
static int own_signal;

static void on_data(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	told_to = gettid();
	told_fd = info->si_fd;
	told++;
}

static void *listen_thread(void *arg)
{
	pthread_barrier_t *ready = arg;

	tid = gettid();
	pthread_barrier_wait(ready);
	while (!crt_go() || !told)
		crt_sleep_ms(20);
	return NULL;
}

static int open_file(const char *name, int flags)
{
	return (int)CRT_SYS(open(crt_make_file(name, 10, 1), flags));
}

static void setup(void)
{
	struct sigaction action = { .sa_sigaction = on_data, .sa_flags = SA_SIGINFO | SA_RESTART };
	static pthread_barrier_t ready;
	pthread_t thread;

	own_signal = SIGRTMIN + 4;
	sigaction(own_signal, &action, NULL);
	pthread_barrier_init(&ready, NULL, 2);
	CRT_SYS(-pthread_create(&thread, NULL, listen_thread, &ready));
	pthread_barrier_wait(&ready);

	by_process = open_file("process", O_RDONLY);
	CRT_SYS(fcntl(by_process, F_SETOWN, getpid()));
	by_thread = open_file("thread", O_RDONLY);
	CRT_SYS(fcntl(by_thread, F_SETOWN_EX, &(struct f_owner_ex){ F_OWNER_TID, tid }));
	CRT_SYS(fcntl(by_thread, F_SETSIG, own_signal));
	by_group = open_file("group", O_RDONLY);
	CRT_SYS(fcntl(by_group, F_SETOWN, -getpgrp()));
	signal_only = open_file("signal", O_RDONLY);
	CRT_SYS(fcntl(signal_only, F_SETSIG, SIGUSR1));

	CRT_SYS(pipe(ends));
	CRT_SYS(fcntl(ends[0], F_SETOWN_EX, &(struct f_owner_ex){ F_OWNER_TID, tid }));
	CRT_SYS(fcntl(ends[0], F_SETSIG, own_signal));
	CRT_SYS(fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK));

	read_lease = open_file("leased", O_RDONLY);
	CRT_SYS(fcntl(read_lease, F_SETLEASE, F_RDLCK));
	write_lease = open_file("taken", O_RDWR);
	CRT_SYS(fcntl(write_lease, F_SETLEASE, F_WRLCK));
	CRT_SYS(fcntl(write_lease, F_SETSIG, SIGUSR2));
}

static void verify(void)
{
	struct f_owner_ex owner;

	CRT_SYS(fcntl(by_process, F_GETOWN_EX, &owner));
	crt_ok(owner.type == F_OWNER_PID && owner.pid == getpid(), "a process is the owner");
	CRT_SYS(fcntl(by_thread, F_GETOWN_EX, &owner));
	crt_ok(owner.type == F_OWNER_TID && owner.pid == tid, "a thread is");
	crt_same(fcntl(by_thread, F_GETSIG), own_signal, "with a signal of its own");
	CRT_SYS(fcntl(by_group, F_GETOWN_EX, &owner));
	crt_ok(owner.type == F_OWNER_PGRP && owner.pid == getpgrp(), "a process group is");
	crt_same(fcntl(signal_only, F_GETSIG), SIGUSR1, "a signal without an owner");
	crt_same(fcntl(signal_only, F_GETOWN), 0, "which has none still");

	crt_same(fcntl(ends[0], F_GETFL), O_RDONLY | O_ASYNC | O_NONBLOCK, "the flags of the pipe");
	crt_same(fcntl(ends[1], F_GETFL), O_WRONLY, "and of its other end");
	crt_same(told, 0, "nothing has been told yet");
	CRT_SYS(write(ends[1], "x", 1));
	for (int i = 0; i < 100 && !told; i++)
		crt_sleep_ms(50);
	crt_ok(told > 0, "data are told of by the signal");
	crt_same(told_to, tid, "to that thread");
	crt_same(told_fd, ends[0], "with the descriptor");

	crt_same(fcntl(read_lease, F_GETLEASE), F_RDLCK, "a read lease");
	crt_same(fcntl(write_lease, F_GETLEASE), F_WRLCK, "a write lease");
	crt_same(fcntl(write_lease, F_GETSIG), SIGUSR2, "with its signal");
	CRT_SYS(fcntl(write_lease, F_GETOWN_EX, &owner));
	crt_ok(owner.type == F_OWNER_PID && owner.pid == getpid(), "and its owner");
}

const struct crt_test crt_test = {
	.text = "owners of open files, asynchronous I/O and leases",
	.setup = setup,
	.verify = verify,
};
