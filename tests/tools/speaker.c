/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * speaker DIR [pair] [sysv] [datagram] - a process to be checkpointed that has something to say
 *
 * Writes its pid to DIR/pid, and a line to standard output and one to standard error every few milliseconds, "out N" and "err N",
 * and "kept N" to descriptor 7 where that is open.  When there is a file DIR/go it reads standard input, says what came ("in TEXT",
 * "in end", "in error"), and ends with 0.
 * With "pair" it has two connected Unix sockets, and says then whom they name as their peer; with "child" after that, it is a child
 * of it that has them and speaks; with "sysv" a message queue of System V;
 * with "datagram" a UDP socket in which one waits.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void listen_once(void)
{
	char text[80];
	ssize_t got = read(0, text, sizeof(text) - 1);

	if (got > 0) {
		text[got] = '\0';
		text[strcspn(text, "\r\n")] = '\0';
		dprintf(1, "in %s\n", text);
	} else {
		dprintf(1, got == 0 ? "in end\n" : "in error\n");
	}
}

static int pair[2] = { -1, -1 };

static void name_peer(void)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (pair[0] < 0 || getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return;
	dprintf(1, "peer %s\n", peer.pid == getpid() ? "self" : peer.pid == getppid() ? "parent" : peer.pid == 0 ? "nobody" : "another");
}

static int have_datagram(void)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(own);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return fd < 0 || bind(fd, (struct sockaddr *)&own, size) != 0 || getsockname(fd, (struct sockaddr *)&own, &size) != 0 ||
	       sendto(fd, "hello", 5, 0, (struct sockaddr *)&own, size) != 5;
}

/* It is of a context when one of its processes was the last to use it. */
static int have_queue(void)
{
	const struct { long type; char text[4]; } message = { 1, "one" };
	int id = msgget(IPC_PRIVATE, 0600);

	return id < 0 || msgsnd(id, &message, sizeof(message.text), 0) != 0;
}

/* The child returns. */
static int leave_it_to_a_child(void)
{
	const pid_t child = fork();

	if (child <= 0)
		return child;
	close(pair[0]);
	close(pair[1]);
	waitpid(child, NULL, 0);
	_exit(0);
}

static int have(const char *what)
{
	if (strcmp(what, "child") == 0)
		return leave_it_to_a_child();
	if (strcmp(what, "pair") == 0)
		return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	if (strcmp(what, "sysv") == 0)
		return have_queue();
	return strcmp(what, "datagram") == 0 ? have_datagram() : -1;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	const int self = getpid();
	FILE *pid;

	if (argc < 2 || chdir(argv[1]) != 0)
		return 2;
	for (int i = 2; i < argc; i++)
		if (have(argv[i]) != 0)
			return 2;
	pid = fopen("pid", "w");
	if (!pid || fprintf(pid, "%d\n", self) < 0 || fclose(pid) != 0)
		return 2;
	for (int n = 0; access("go", F_OK) != 0; n++) {
		dprintf(1, "out %d\n", n);
		dprintf(2, "err %d\n", n);
		dprintf(7, "kept %d\n", n);
		nanosleep(&pause, NULL);
	}
	listen_once();
	name_peer();
	return 0;
}
