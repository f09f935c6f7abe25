/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * holder - has so many of something open, and makes a file when it has
 *
 *	holder FILE epoll|fanotify|mqueue|pty NUMBER
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <unistd.h>

static bool watch(int number)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0), i;

	for (i = 0; i < number; i++) {
		int fd = eventfd(0, 0);

		if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
			return false;
	}
	return true;
}

static bool make_groups(int number)
{
	while (number-- > 0) {
		int fd = fanotify_init(FAN_CLASS_NOTIF, O_RDONLY);

		if (fd < 0 || fanotify_mark(fd, FAN_MARK_ADD, FAN_MODIFY, AT_FDCWD, "/etc/passwd") ||
		    fanotify_mark(fd, FAN_MARK_ADD, FAN_MODIFY, AT_FDCWD, "/etc/group"))
			return false;
	}
	return true;
}

static bool make_queues(int number)
{
	struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = 1000 };
	char name[32];

	while (number-- > 0) {
		snprintf(name, sizeof(name), "/cryo-holder-%d", number);
		if (mq_open(name, O_RDWR | O_CREAT, 0600, &attr) < 0 || mq_unlink(name))
			return false;
	}
	return true;
}

static bool open_terminals(int number)
{
	while (number-- > 0)
		if (posix_openpt(O_RDWR | O_NOCTTY) < 0)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	int number = argc > 3 ? atoi(argv[3]) : 0;
	bool good = false;

	if (argc > 3 && !strcmp(argv[2], "epoll"))
		good = watch(number);
	if (argc > 3 && !strcmp(argv[2], "fanotify"))
		good = make_groups(number);
	if (argc > 3 && !strcmp(argv[2], "mqueue"))
		good = make_queues(number);
	if (argc > 3 && !strcmp(argv[2], "pty"))
		good = open_terminals(number);
	if (!good) {
		perror("holder");
		return 1;
	}
	close(open(argv[1], O_WRONLY | O_CREAT, 0600));
	for (;;)
		pause();
}
