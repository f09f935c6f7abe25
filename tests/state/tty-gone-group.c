// SPDX-License-Identifier: GPL-2.0-only
/* A terminal in whose foreground is a process group that nobody is in any more: its session stays in the background. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int master;
static pid_t leader, before;
static struct {
	atomic_int ready, stopped;
} *shared;

static void on_ttin(int signal)
{
	(void)signal;
	shared->stopped++;
}

static void lead(void)
{
	const struct sigaction action = { .sa_handler = on_ttin };
	int slave;
	char byte;
	pid_t pid;

	CRT_SYS(setsid());
	slave = (int)CRT_SYS(ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY));
	CRT_SYS(ioctl(slave, TIOCSCTTY, 0));
	pid = (pid_t)CRT_SYS(fork());
	if (!pid)
		for (;;)
			pause();
	CRT_SYS(setpgid(pid, pid));
	CRT_SYS(tcsetpgrp(slave, pid));
	CRT_SYS(kill(pid, SIGKILL));
	CRT_SYS(waitpid(pid, NULL, 0));
	CRT_SYS(sigaction(SIGTTIN, &action, NULL));
	shared->ready = 1;
	for (;;) {
		/* Not allowed to those in the background: EINTR, or EIO as nobody could continue the group. */
		if (shared->ready == 2 && read(slave, &byte, 1) < 0)
			shared->ready = 3;
		usleep(10000);
	}
}

static void setup(void)
{
	shared = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	master = (int)CRT_SYS(posix_openpt(O_RDWR | O_NOCTTY));
	CRT_SYS(ioctl(master, TIOCSPTLCK, &(int){ 0 }));
	leader = (pid_t)CRT_SYS(fork());
	if (!leader)
		lead();
	while (!shared->ready)
		crt_sleep_ms(10);
	CRT_SYS(ioctl(master, TIOCGPGRP, &before));
	if (before == leader || kill(-before, 0) == 0)
		crt_die("process group %d is there", before);
}

static void verify(void)
{
	pid_t now = 0;

	CRT_SYS(ioctl(master, TIOCGPGRP, &now));
	crt_same(now, before, "group in the foreground");
	shared->ready = 2;
	for (int i = 0; i < 500 && shared->ready == 2; i++)
		crt_sleep_ms(10);
	crt_same(shared->ready, 3, "the leader of the session may not read");
	CRT_SYS(kill(leader, SIGKILL));
	CRT_SYS(waitpid(leader, NULL, 0));
}

const struct crt_test crt_test = {
	.text = "a terminal with a group in the foreground that is gone",
	.setup = setup,
	.verify = verify,
	.dead_ms = 300,
};
