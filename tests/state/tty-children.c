// SPDX-License-Identifier: GPL-2.0-only
/* Who of a session has its terminal: children have it from their parents, and keep it or not. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* In the session, in the order in which they are forked. */
enum { LEADER, EARLIER, CHILD, GRANDCHILD, WITHOUT, COUNT };

static const char *const names[] = {
	"the leader", "a child from before there was one", "a child", "a grandchild in a group of its own", "a child that has given it up",
};

static int master, slave;
static struct {
	atomic_int ready, asked;
	atomic_int answers;
	atomic_int has[COUNT];
	pid_t pids[COUNT];
} *shared;

/* Until the end: whether it has a terminal, as often as that is asked. */
static void answer(int which)
{
	int answered = 0, fd;

	shared->pids[which] = getpid();
	shared->ready++;
	for (;;) {
		if (answered != shared->asked) {
			fd = open("/dev/tty", O_RDWR | O_NOCTTY);
			shared->has[which] = fd >= 0;
			if (fd >= 0)
				close(fd);
			answered = shared->asked;
			shared->answers++;
		}
		usleep(10000);
	}
}

static void wait_for(int which)
{
	while (!shared->pids[which])
		usleep(10000);
}

static void lead(void)
{
	CRT_SYS(setsid());
	slave = (int)CRT_SYS(ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY));
	if (!CRT_SYS(fork()))
		answer(EARLIER);
	wait_for(EARLIER);
	CRT_SYS(ioctl(slave, TIOCSCTTY, 0));
	if (!CRT_SYS(fork())) {
		if (CRT_SYS(fork()))
			answer(CHILD);
		CRT_SYS(setpgid(0, 0));
		answer(GRANDCHILD);
	}
	if (!CRT_SYS(fork())) {
		CRT_SYS(ioctl(slave, TIOCNOTTY));
		answer(WITHOUT);
	}
	wait_for(GRANDCHILD);
	CRT_SYS(tcsetpgrp(slave, shared->pids[GRANDCHILD]));
	answer(LEADER);
}

static void ask(bool check)
{
	shared->answers = 0;
	shared->asked++;
	for (int i = 0; i < 500 && shared->answers < COUNT; i++)
		crt_sleep_ms(10);
	for (int i = 0; i < COUNT; i++) {
		const bool wanted = i != EARLIER && i != WITHOUT;

		if (check)
			crt_same(shared->has[i], wanted, names[i]);
		else if (shared->has[i] != wanted)
			crt_die("%s: %d", names[i], shared->has[i]);
	}
}

static void setup(void)
{
	shared = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	master = (int)CRT_SYS(posix_openpt(O_RDWR | O_NOCTTY));
	CRT_SYS(ioctl(master, TIOCSPTLCK, &(int){ 0 }));
	if (!CRT_SYS(fork()))
		lead();
	while (shared->ready < COUNT)
		crt_sleep_ms(10);
	ask(false);
}

static void verify(void)
{
	pid_t group = 0;

	ask(true);
	CRT_SYS(ioctl(master, TIOCGPGRP, &group));
	crt_same(group, shared->pids[GRANDCHILD], "group in the foreground");
	CRT_SYS(kill(-shared->pids[GRANDCHILD], SIGKILL));
	for (int i = COUNT - 1; i >= 0; i--)
		kill(shared->pids[i], SIGKILL);
	CRT_SYS(wait(NULL));
}

const struct crt_test crt_test = {
	.text = "who of a session has its terminal",
	.setup = setup,
	.verify = verify,
};
