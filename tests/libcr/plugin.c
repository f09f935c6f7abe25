// SPDX-License-Identifier: GPL-2.0-only
/*
 * plugin - what the test "plugins" runs: two ends of TCP connections
 *
 *   plugin server PORT	counts connections, and answers each line with the connection's number
 *   plugin client PORT	one connection, in descriptor 9; asks, and says what is answered
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX 32
#define FD 9

static struct sockaddr_in address(const char *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((in_port_t)atoi(port)) };

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return at;
}

/* False: the connection has ended. */
static int answer(int fd, int number)
{
	char line[64];

	if (read(fd, line, sizeof(line)) <= 0)
		return 0;
	snprintf(line, sizeof(line), "%d\n", number);
	return write(fd, line, strlen(line)) > 0;
}

static int server(const char *port)
{
	struct sockaddr_in at = address(port);
	struct pollfd fds[MAX] = { { .events = POLLIN } };
	int n = 1, one = 1;

	fds[0].fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fds[0].fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fds[0].fd, (struct sockaddr *)&at, sizeof(at)) || listen(fds[0].fd, MAX))
		return 1;
	printf("up\n");
	for (;;) {
		poll(fds, (nfds_t)n, -1);
		for (int i = 1; i < n; i++)
			if (fds[i].revents && !answer(fds[i].fd, i)) {
				close(fds[i].fd);
				fds[i].fd = -1;
				printf("closed %d\n", i);
			}
		if (fds[0].revents && n < MAX) {
			fds[n] = (struct pollfd){ .fd = accept(fds[0].fd, NULL, NULL), .events = POLLIN };
			printf("accepted %d\n", n++);
		}
	}
}

static int client(const char *port)
{
	struct timespec pause = { 0, 50000000 };
	struct sockaddr_in at = address(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0), twin = 8;
	char line[64];
	ssize_t n;

	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) || dup2(fd, FD) < 0 || dup2(fd, twin) < 0)
		return 1;
	close(fd);
	for (;;) {
		fd = fd == FD ? twin : FD;
		if (write(fd, "?\n", 2) == 2 && (n = read(fd, line, sizeof(line) - 1)) > 0) {
			line[n] = '\0';
			printf("%d: %s", fd, line);
		} else {
			printf("lost\n");
		}
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 3)
		return 2;
	return !strcmp(argv[1], "server") ? server(argv[2]) : client(argv[2]);
}
