// SPDX-License-Identifier: GPL-2.0-only
/*
 * Datagrams of others to sockets that are connected, which the kernel gives to nobody but who they are connected to.
 *
 *	strangers job PORT		has a UDP socket at PORT and a Unix one (abstract), each connected with one of its own; prints
 *					"ready", and after SIGUSR1 how many messages of others it has
 *	strangers send PORT SECONDS	sends to both all the time
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static struct sockaddr_in inet_at(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((in_port_t)port) };

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return at;
}

static socklen_t unix_at(struct sockaddr_un *at, int port, const char *which)
{
	memset(at, 0, sizeof(*at));
	at->sun_family = AF_UNIX;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(at->sun_path + 1, sizeof(at->sun_path) - 1, "strangers %d %s", port, which));
}

static int inet_socket(int port)
{
	struct sockaddr_in at = inet_at(port);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		fail("UDP socket");
	return fd;
}

static int unix_socket(int port, const char *which)
{
	struct sockaddr_un at;
	socklen_t size = unix_at(&at, port, which);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, size))
		fail("Unix socket");
	return fd;
}

/* All that is there; what the peer has sent is "peer". */
static void report(const char *name, int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	unsigned int peer = 0, others = 0;
	char text[16];

	/* What is sent to the loopback device may take its time. */
	poll(&wait, 1, 10000);

	for (;;) {
		ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT);

		if (n < 0)
			break;
		if (n == 4 && !memcmp(text, "peer", 4))
			peer++;
		else
			others++;
	}
	printf("%s: %u of its peer, %u of others\n", name, peer, others);
}

static int job(int port)
{
	int udp = inet_socket(port), udp_peer = inet_socket(port + 1);
	int local = unix_socket(port, "a"), local_peer = unix_socket(port, "b");
	struct sockaddr_in to = inet_at(port + 1), from = inet_at(port);
	struct sockaddr_un at, own;
	socklen_t size = unix_at(&at, port, "b"), own_size = unix_at(&own, port, "a");
	sigset_t wait_for;
	int got;

	if (connect(udp, (struct sockaddr *)&to, sizeof(to)) || connect(local, (struct sockaddr *)&at, size))
		fail("connect");
	sigemptyset(&wait_for);
	sigaddset(&wait_for, SIGUSR1);
	sigprocmask(SIG_BLOCK, &wait_for, NULL);
	puts("ready");
	fflush(stdout);
	sigwait(&wait_for, &got);
	if (sendto(udp_peer, "peer", 4, 0, (struct sockaddr *)&from, sizeof(from)) != 4 ||
	    sendto(local_peer, "peer", 4, 0, (struct sockaddr *)&own, own_size) != 4)
		perror("sendto");
	report("UDP", udp);
	report("Unix", local);
	return 0;
}

static int send_to(int port, int seconds)
{
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), local = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	struct sockaddr_in to = inet_at(port);
	struct sockaddr_un at;
	socklen_t size = unix_at(&at, port, "a");
	const struct timespec pause = { .tv_nsec = 200000 };
	time_t end = time(NULL) + seconds;
	unsigned long sent = 0;

	while (time(NULL) < end) {
		sent += sendto(udp, "evil", 5, 0, (struct sockaddr *)&to, sizeof(to)) == 5;
		sent += sendto(local, "evil", 5, 0, (struct sockaddr *)&at, size) == 5;
		nanosleep(&pause, NULL);
	}
	printf("sent %lu\n", sent);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "job"))
		return job(atoi(argv[2]));
	if (argc == 4 && !strcmp(argv[1], "send"))
		return send_to(atoi(argv[2]), atoi(argv[3]));
	return 2;
}
