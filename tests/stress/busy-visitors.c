// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program with listening sockets and a semaphore that another process has as well, which is in no checkpoint: that accepts and
 * closes connections while they are looked at, and sets the semaphore, so that the program's adjustment of it goes.
 *
 *     busy-visitors	says "up"; ends by SIGTERM, and says "N connections, N errors"
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define KINDS	2	/* of listening sockets */
#define CALLS	8	/* at a time, that have not been closed by the caller */

struct listener {
	int fd;
	union {
		struct sockaddr any;
		struct sockaddr_un un;
		struct sockaddr_in in;
	} name;
	socklen_t len;
};

static struct listener listeners[KINDS];
static int calls[KINDS][CALLS];
static int semaphore;
static unsigned long connections, errors;
static volatile sig_atomic_t end;

static long check(long value, const char *what)
{
	if (value != -1)
		return value;
	perror(what);
	exit(1);
}

#define CHECK(x) check((x), #x)

static void begin_listening(struct listener *l, int family)
{
	l->name.any.sa_family = (sa_family_t)family;
	if (family == AF_INET)
		l->name.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	l->len = family == AF_INET ? sizeof(l->name.in) : sizeof(sa_family_t);
	l->fd = (int)CHECK(socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0));
	CHECK(bind(l->fd, &l->name.any, l->len));
	CHECK(listen(l->fd, CALLS));
	l->len = sizeof(l->name);
	CHECK(getsockname(l->fd, &l->name.any, &l->len));
}

/* Nobody's child that we know, and so not in our tree. */
static void start_visitor(void)
{
	pid_t child = (pid_t)CHECK(fork());

	if (!child) {
		if (fork())
			_exit(0);
		for (;;) {
			for (int kind = 0; kind < KINDS; kind++) {
				int fd = accept(listeners[kind].fd, NULL, NULL);

				if (fd >= 0)
					close(fd);
			}
			/* Gone with the program. */
			if (semctl(semaphore, 0, SETVAL, 1000) == -1)
				_exit(0);
		}
	}
	CHECK(waitpid(child, NULL, 0));
}

/* One more, where there is room, in the place of the oldest. */
static void call(int kind, unsigned long number)
{
	int *place = &calls[kind][number % CALLS];
	int fd = (int)CHECK(socket(listeners[kind].name.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0));

	if (*place)
		close(*place);
	*place = fd;
	if (!connect(fd, &listeners[kind].name.any, listeners[kind].len) || errno == EINPROGRESS || errno == EAGAIN)
		connections++;
	else
		errors++;
}

static void change_semaphore(void)
{
	struct sembuf take = { .sem_op = -1, .sem_flg = SEM_UNDO | IPC_NOWAIT };

	if (semop(semaphore, &take, 1) && errno != EAGAIN)
		errors++;
}

static void on_term(int sig)
{
	(void)sig;
	end = 1;
}

int main(void)
{
	signal(SIGTERM, on_term);
	begin_listening(&listeners[0], AF_UNIX);
	begin_listening(&listeners[1], AF_INET);
	semaphore = (int)CHECK(semget(IPC_PRIVATE, 1, 0600));
	start_visitor();
	puts("up");
	fflush(stdout);
	for (unsigned long number = 0; !end; number++) {
		for (int kind = 0; kind < KINDS; kind++)
			call(kind, number);
		change_semaphore();
	}
	semctl(semaphore, 0, IPC_RMID);
	printf("%lu connections, %lu errors\n", connections, errors);
	return 0;
}
