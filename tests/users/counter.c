// SPDX-License-Identifier: GPL-2.0-only
/*
 * counter FILE [peers] [port N] [key N]: writes a number to FILE that grows, for as long as it lives.
 *
 * peers	with a child, connected to it; "wrong" is written instead when one does not say that pid at its end that has made them
 * port N	with a socket that listens there
 * key N	with a System V shared memory segment of that key, which has the number too
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

static int end = -1;
static pid_t maker;
static volatile unsigned long *segment;

static bool is_peer_right(void)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return !getsockopt(end, SOL_SOCKET, SO_PEERCRED, &peer, &length) && peer.pid == maker;
}

/* The child says so by a byte, one for each that it gets. */
static void be_peer(int fd)
{
	char c;

	end = fd;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, &c, 1) == 1) {
		c = is_peer_right();
		if (write(fd, &c, 1) != 1)
			break;
	}
	_exit(1);
}

static bool make_peers(void)
{
	int pair[2];

	maker = getpid();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return false;
	end = pair[0];
	if (!fork()) {
		close(pair[0]);
		be_peer(pair[1]);
	}
	close(pair[1]);
	return true;
}

static bool listen_at(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return !bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, 1);
}

static bool make_segment(int key)
{
	int id = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0600);

	segment = shmat(id, NULL, 0);
	return segment != (void *)-1;
}

static bool take(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		bool more = i + 1 < argc;

		if (!strcmp(argv[i], "peers")) {
			if (!make_peers())
				return false;
		} else if (more && !strcmp(argv[i], "port")) {
			if (!listen_at(atoi(argv[++i])))
				return false;
		} else if (!more || strcmp(argv[i], "key") || !make_segment(atoi(argv[++i]))) {
			return false;
		}
	}
	return true;
}

static bool is_well(unsigned long n)
{
	char c = 1;

	if (segment) {
		if (*segment != n - 1)
			return false;
		*segment = n;
	}
	return end < 0 || (write(end, &c, 1) == 1 && read(end, &c, 1) == 1 && c && is_peer_right());
}

int main(int argc, char **argv)
{
	FILE *out = argc >= 2 && take(argc, argv) ? fopen(argv[1], "w") : NULL;
	unsigned long n;

	for (n = 1; out; n++) {
		rewind(out);
		if (is_well(n))
			fprintf(out, "%lu\n", n);
		else
			fprintf(out, "wrong\n");
		fflush(out);
		usleep(20000);
	}
	return 1;
}
