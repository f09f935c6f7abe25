/* SPDX-License-Identifier: GPL-2.0-only */
/* fanotify.h - what the tests of fanotify have in common */
#ifndef TEST_FANOTIFY_H
#define TEST_FANOTIFY_H

#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fanotify.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAN_LINES 12

struct fan_state {
	char lines[FAN_LINES][256];
	int n;
};

static inline int fan_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* What fdinfo tells of a group and its marks, but for numbers that are another mount's after a while. */
static inline void fan_look(int fd, struct fan_state *s)
{
	char path[64], text[16384], *line, *rest = text;

	s->n = 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	crt_slurp(path, text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, "fanotify ", 9) && s->n < FAN_LINES) {
			char *end = strstr(line, " fhandle-bytes");

			snprintf(s->lines[s->n++], sizeof(s->lines[0]), "%.*s",
				 end ? (int)(end - line) : (int)strlen(line), line);
		}
	qsort(s->lines, s->n, sizeof(s->lines[0]), fan_compare);
}

static inline void fan_same(int fd, const struct fan_state *before, const char *what)
{
	struct fan_state now;

	fan_look(fd, &now);
	crt_same(now.n, before->n, "%s: as many lines", what);
	for (int i = 0; i < now.n && i < before->n; i++)
		crt_same_str(now.lines[i], before->lines[i], "%s: line %d", what, i);
}

/* Runs @act in a child, which exits with what it returns; -1: it still runs, as *pid. */
static inline pid_t fan_child(int (*act)(void))
{
	pid_t pid = (pid_t)CRT_SYS(fork());

	if (!pid)
		_exit(act());
	return pid;
}

static inline int fan_status(pid_t pid)
{
	int status;

	CRT_SYS(waitpid(pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* One event; whose name, if it has one, goes to @name. False: there is none. */
static inline bool fan_event(int fd, struct fanotify_event_metadata *event, char *name, size_t size)
{
	char buf[4096];
	ssize_t len = read(fd, buf, sizeof(buf));
	struct fanotify_event_info_header *info;

	*name = 0;
	if (len <= 0)
		return false;
	memcpy(event, buf, sizeof(*event));
	if (len > (ssize_t)event->event_len)
		crt_diag("more than one event");
	info = (void *)(buf + event->metadata_len);
	if (event->event_len > event->metadata_len && info->info_type == FAN_EVENT_INFO_TYPE_DFID_NAME) {
		struct fanotify_event_info_fid *fid = (void *)info;
		unsigned int bytes;

		memcpy(&bytes, fid->handle, sizeof(bytes));
		snprintf(name, size, "%s", (char *)fid->handle + 8 + bytes);
	}
	return true;
}

static inline bool fan_quiet(int fd)
{
	struct fanotify_event_metadata event;
	char name[256];

	if (!fan_event(fd, &event, name, sizeof(name)))
		return errno == EAGAIN;
	crt_diag("event %llx of pid %d (%s)", (unsigned long long)event.mask, event.pid, name);
	return false;
}

/* The next event has this mask and pid, and this name unless that is NULL. */
static inline bool fan_expect(int fd, uint64_t mask, pid_t pid, const char *expected)
{
	struct fanotify_event_metadata event;
	char name[256];

	if (!fan_event(fd, &event, name, sizeof(name))) {
		crt_diag("no event");
		return false;
	}
	if (event.fd >= 0)
		close(event.fd);
	if (event.mask == mask && event.pid == pid && (!expected || !strcmp(name, expected)))
		return true;
	crt_diag("event %llx of pid %d (%s)", (unsigned long long)event.mask, event.pid, name);
	return false;
}

#endif /* TEST_FANOTIFY_H */
