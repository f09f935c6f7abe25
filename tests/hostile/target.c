// SPDX-License-Identifier: GPL-2.0-only
/*
 * target BEHAVIOUR DIR - the victim of the hostile tests
 *
 * Counts in the shared file DIR/watch how often it got round, and what went wrong:
 *   plain    four threads and 24 MiB; maps DIR/data privately and has DIR/open open
 *   crowd    400 threads that do nothing
 *   threads  makes and ends threads all the time
 *   fork     makes and reaps children all the time
 *   vfork    the same by vfork()
 *   tree     twenty processes, which are replaced when they die; each has a removed file open, and
 *            the first has one of each kind that has a name: System V objects, a message queue, a
 *            FIFO, a socket
 *   exec     becomes itself again every few milliseconds
 *   brief    plain, and ends by itself after as many milliseconds as the third argument says
 */
#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MEMORY (24UL << 20)

static struct watch *watch;
static unsigned char *memory;

static void nap(long ns)
{
	struct timespec ts = { 0, ns };

	if (nanosleep(&ts, NULL))
		watch->errors++;
}

static void *tick(void *arg)
{
	long i = (long)arg;

	for (unsigned long n = 0;; n++) {
		size_t at = (n * 4096 + (unsigned long)i * 512) % MEMORY;

		if (memory[at] != (unsigned char)(at >> 12))
			watch->errors++;
		watch->ticks++;
		if (n % 64 == 0)
			nap(1000000);
	}
	return NULL;
}

static void *nothing(void *arg)
{
	watch->ticks++;
	return arg;
}

static void plain(const char *dir)
{
	char path[512];
	pthread_t id;
	int fd;

	memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t at = 0; at < MEMORY; at++)
		memory[at] = (unsigned char)(at >> 12);
	snprintf(path, sizeof(path), "%s/data", dir);
	fd = open(path, O_RDONLY);
	if (fd >= 0) {
		mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
		close(fd);
	}
	snprintf(path, sizeof(path), "%s/open", dir);
	open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	for (long i = 1; i < 4; i++)
		pthread_create(&id, NULL, tick, (void *)i);
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void crowd(void)
{
	pthread_attr_t attr;
	pthread_t id;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 * 1024);
	for (int i = 0; i < 400; i++)
		if (pthread_create(&id, &attr, wait_for_ever, NULL))
			watch->errors++;
}

static void threads(void)
{
	for (;;) {
		pthread_t id[4];
		int n = 0;

		while (n < 4 && !pthread_create(&id[n], NULL, nothing, NULL))
			n++;
		if (n < 4 && errno != EAGAIN)
			watch->errors++;
		while (n > 0)
			pthread_join(id[--n], NULL);
	}
}

static void children(int by_vfork)
{
	for (;;) {
		pid_t pid = by_vfork ? vfork() : fork();
		int status;

		if (!pid)
			_exit(3);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
			watch->errors++;
		watch->ticks++;
	}
}

static int removed_file(const char *dir, int number)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/removed.%d", dir, number);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, &number, sizeof(number)) != sizeof(number) || unlink(path))
		watch->errors++;
	return fd;
}

/* Every other one has a child, which dies with it. */
static void branch(const char *dir, int number)
{
	int fd = removed_file(dir, number);

	if (number % 2 && !fork())
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int back = -1;

		if (pread(fd, &back, sizeof(back), 0) != sizeof(back) || back != number)
			watch->errors++;
		watch->ticks++;
		nap(1000000);
	}
}

#define BRANCHES 13

/* What stays in the system when nobody is left who has it. */
struct named {
	int *segment;
	int semaphores, messages;
	mqd_t queue;
	int fifo, listener;
};

static struct named make_named(const char *dir)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 16 };
	struct { long type; char text[4]; } letter = { 1, "abc" };
	struct named n;
	char path[512];

	n.segment = shmat(shmget(IPC_PRIVATE, 4096, 0600), NULL, 0);
	*n.segment = 4711;
	n.semaphores = semget(IPC_PRIVATE, 1, 0600);
	n.messages = msgget(IPC_PRIVATE, 0600);
	snprintf(path, sizeof(path), "/hostile.%d", getpid());
	n.queue = mq_open(path, O_RDWR | O_CREAT, 0600, &attr);
	snprintf(path, sizeof(path), "%s/fifo", dir);
	n.fifo = mkfifo(path, 0600) ? -1 : open(path, O_RDWR);
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/socket", dir);
	n.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (semctl(n.semaphores, 0, SETVAL, 3) || msgsnd(n.messages, &letter, 4, 0) || n.queue == (mqd_t)-1 ||
	    n.fifo < 0 || bind(n.listener, (struct sockaddr *)&name, sizeof(name)) || listen(n.listener, 1))
		watch->errors++;
	return n;
}

static void check_named(const struct named *n)
{
	struct msqid_ds messages;
	struct mq_attr attr;

	if (*n->segment != 4711 || semctl(n->semaphores, 0, GETVAL) != 3 ||
	    msgctl(n->messages, IPC_STAT, &messages) || messages.msg_qnum != 1 ||
	    mq_getattr(n->queue, &attr) || attr.mq_maxmsg != 2)
		watch->errors++;
}

static void tree(const char *dir)
{
	pid_t pids[BRANCHES] = { 0 };
	struct named named = make_named(dir);

	for (;;) {
		check_named(&named);
		for (int i = 0; i < BRANCHES; i++)
			if (!pids[i] || waitpid(pids[i], NULL, WNOHANG) == pids[i]) {
				pids[i] = fork();
				if (!pids[i])
					branch(dir, i);
			}
		watch->ready = getpid();
		nap(5000000);
	}
}

int main(int argc, char **argv)
{
	char path[512];
	int fd;

	if (argc < 3)
		return 2;
	snprintf(path, sizeof(path), "%s/watch", argv[2]);
	fd = open(path, O_RDWR | O_CLOEXEC);
	watch = mmap(NULL, sizeof(*watch), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || watch == MAP_FAILED)
		return 2;
	close(fd);
	if (!strcmp(argv[1], "plain") || !strcmp(argv[1], "brief"))
		plain(argv[2]);
	if (!strcmp(argv[1], "crowd"))
		crowd();
	watch->ready = getpid();
	if (!strcmp(argv[1], "tree"))
		tree(argv[2]);
	if (!strcmp(argv[1], "threads"))
		threads();
	if (!strcmp(argv[1], "fork"))
		children(0);
	if (!strcmp(argv[1], "vfork"))
		children(1);
	if (!strcmp(argv[1], "exec")) {
		watch->ticks++;
		nap(3000000);
		execv("/proc/self/exe", argv);
		watch->errors++;
		return 1;
	}
	if (!strcmp(argv[1], "brief") && argc > 3) {
		nap(atol(argv[3]) * 1000000);
		return 5;
	}
	tick((void *)0);
}
