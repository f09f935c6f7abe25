// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two processes: a child with a session of its own on the parent's pseudo-terminal, a FIFO between
 * them, and System V and POSIX objects that both use.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int master, sem, shm, fifo;
static mqd_t queue;
static pid_t child;
static volatile int *shared;

static void change(int semaphore, int by, int flags)
{
	struct sembuf op = { .sem_num = (unsigned short)semaphore, .sem_op = (short)by, .sem_flg = (short)flags };

	while (semop(sem, &op, 1) && errno == EINTR)
		;
}

/* Answers each line that is typed. */
static void child_main(const char *name)
{
	char line[100], tag;
	ssize_t n;

	close(master);
	CRT_SYS(setsid());
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	if (open(name, O_RDWR) != 0 || dup(0) != 1 || dup(0) != 2)
		_exit(1);
	fifo = open(crt_path("fifo"), O_WRONLY);
	change(0, -2, SEM_UNDO);
	change(1, 1, 0);
	for (;;) {
		n = read(0, line, sizeof(line));
		if (n <= 0)
			_exit(2);
		if (line[0] == 'q')
			_exit(5);
		tag = tcgetsid(0) == getpid() && tcgetpgrp(1) == getpgrp() && *shared == 4711 ? 'y' : 'n';
		*shared = 815;
		mq_send(queue, &tag, 1, 0);
		if (write(fifo, line, (size_t)n) != n)
			_exit(3);
		change(1, 1, 0);
	}
}

static void setup(void)
{
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 10 };
	char name[64];
	struct termios t;

	master = (int)CRT_SYS(posix_openpt(O_RDWR | O_NOCTTY));
	CRT_SYS(unlockpt(master));
	CRT_SYS(ptsname_r(master, name, sizeof(name)));
	CRT_SYS(tcgetattr(master, &t));
	t.c_lflag &= ~(tcflag_t)ECHO;
	CRT_SYS(tcsetattr(master, TCSANOW, &t));
	CRT_SYS(mkfifo(crt_path("fifo"), 0600));
	fifo = (int)CRT_SYS(open(crt_path("fifo"), O_RDONLY | O_NONBLOCK));
	CRT_SYS(fcntl(fifo, F_SETFL, 0));
	shm = (int)CRT_SYS(shmget(IPC_PRIVATE, 4096, 0600));
	shared = CRT_MAP(shmat(shm, NULL, 0));
	CRT_SYS(shmctl(shm, IPC_RMID, NULL));
	*shared = 4711;
	sem = (int)CRT_SYS(semget(IPC_PRIVATE, 2, 0600));
	CRT_SYS(semctl(sem, 0, SETVAL, 5));
	snprintf(name + 32, 32, "/cryo-tree-%d", getpid());
	queue = (mqd_t)CRT_SYS(mq_open(name + 32, O_CREAT | O_EXCL | O_RDWR, 0600, &attr));
	CRT_SYS(mq_unlink(name + 32));
	CRT_SYS(ptsname_r(master, name, 32));
	child = (pid_t)CRT_SYS(fork());
	if (!child)
		child_main(name);
	change(1, -1, 0);				/* it is ready */
	CRT_SYS(write(master, "first half, ", 12));
}

static void verify(void)
{
	struct shmid_ds status;
	char buf[100] = "";
	pid_t foreground = 0;
	int end = 0;

	CRT_SYS(ioctl(master, TIOCGPGRP, &foreground));
	crt_same(foreground, child, "the child's group is in the foreground of the terminal");
	CRT_SYS(shmctl(shm, IPC_STAT, &status));
	crt_same((long long)status.shm_nattch, 2, "both have the segment attached");
	crt_same(semctl(sem, 0, GETVAL), 3, "a semaphore that the child took from");
	CRT_SYS(write(master, "second half\n", 12));
	change(1, -1, 0);
	crt_same(*shared, 815, "the child's change is seen");
	crt_same(mq_receive(queue, buf, 10, NULL), 1, "it has sent a message");
	crt_same(buf[0], 'y', "it leads its session on its terminal, and saw the parent's value");
	crt_same(read(fifo, buf, sizeof(buf)), 24, "what was typed comes by the FIFO");
	crt_ok(!memcmp(buf, "first half, second half\n", 24), "both halves of it");
	CRT_SYS(write(master, "quit\n", 5));
	crt_same(waitpid(child, &end, 0), child, "the child ends");
	crt_ok(WIFEXITED(end) && WEXITSTATUS(end) == 5, "as it was told");
	crt_same(semctl(sem, 0, GETVAL), 5, "what it took is undone");
	crt_same(read(fifo, buf, sizeof(buf)), 0, "nobody else has the FIFO for writing");
	semctl(sem, 0, IPC_RMID);
}

const struct crt_test crt_test = {
	.text = "two processes, a terminal, a FIFO and System V objects between them",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ONCE,
};
