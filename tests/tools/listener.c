/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * listener NAME MODE OWNER FILE - listens at a Unix socket
 *
 * Gives the socket's file that mode and owner, and writes to FILE, again and again, how often it has looked and how often it has been
 * called: two numbers.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void look(int fd, const char *name)
{
	struct pollfd event = { .fd = fd, .events = POLLIN };
	unsigned long looks = 0, calls = 0;
	char text[64];
	FILE *file;

	for (;; looks++) {
		if (poll(&event, 1, 50) == 1 && accept(fd, NULL, NULL) >= 0)
			calls++;
		snprintf(text, sizeof(text), "%lu %lu\n", looks, calls);
		file = fopen(name, "w");
		if (!file || fputs(text, file) < 0 || fclose(file))
			_exit(1);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	uid_t owner;

	if (argc != 5 || strlen(argv[1]) >= sizeof(un.sun_path))
		return 2;
	strcpy(un.sun_path, argv[1]);
	owner = (uid_t)atoi(argv[3]);
	if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof(un)) ||
	    chmod(argv[1], (mode_t)strtoul(argv[2], NULL, 8)) || chown(argv[1], owner, owner) || listen(fd, 5)) {
		perror(argv[1]);
		return 1;
	}
	look(fd, argv[4]);
	return 0;
}
