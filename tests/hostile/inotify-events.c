// SPDX-License-Identifier: GPL-2.0-only
/*
 * CRYO_RST_INOTIFY_EVENT: into whose queues a user can put events, and which. By hand: his own, and one that root has given him; and
 * root into that of a user.
 */
#include "restarting.h"
#include <sys/inotify.h>

static int own = -1, foreign = -1;

static int put(int handle, int fd, int32_t wd, uint32_t mask, const char *name)
{
	struct cryo_inotify_put args = { .size = sizeof(args), .fd = fd, .wd = wd, .mask = mask,
					 .name_len = (uint32_t)strlen(name), .name = (uintptr_t)name };

	return ioctl(handle, CRYO_RST_INOTIFY_EVENT, &args) ? errno : 0;
}

static bool next_is(int fd, int32_t wd, uint32_t mask, const char *name)
{
	union {
		struct inotify_event head;
		char bytes[sizeof(struct inotify_event) + 256];
	} event;

	memset(&event, 0, sizeof(event));
	return read(fd, &event, sizeof(event.head) + (*name ? 16 : 0)) > 0 && event.head.wd == wd && event.head.mask == mask &&
	       !strcmp(event.head.name, name);
}

static void right_ones(int handle)
{
	is_error(put(handle, own, 7, IN_CREATE | IN_ISDIR, "a name"), 0, "an event of a watch that has gone");
	is_error(put(handle, own, 7, IN_IGNORED, ""), 0, "without a name");
	is_error(put(handle, own, 7, IN_IGNORED, ""), 0, "an equal one");
	is_error(put(handle, own, -1, IN_Q_OVERFLOW, ""), 0, "that some have been lost");
	is_error(put(handle, own, -1, IN_Q_OVERFLOW, ""), 0, "and once more");
	ok(next_is(own, 7, IN_CREATE | IN_ISDIR, "a name") && next_is(own, 7, IN_IGNORED, "") && next_is(own, 7, IN_IGNORED, ""),
	   "they are read in their order");
	ok(next_is(own, -1, IN_Q_OVERFLOW, "") && !next_is(own, -1, IN_Q_OVERFLOW, ""), "lost ones are told of once");
}

static void wrong_ones(int handle)
{
	is_error(put(handle, own, 0, IN_CREATE, "x"), EINVAL, "no watch");
	is_error(put(handle, own, -1, IN_CREATE, "x"), EINVAL, "an event of none that tells of no loss");
	is_error(put(handle, own, 1, 0, "x"), EINVAL, "no event");
	is_error(put(handle, own, 1, 1U << 12, "x"), EINVAL, "one that inotify does not have");
	is_error(put(handle, own, 1, IN_Q_OVERFLOW, ""), EINVAL, "a loss of a watch");
	is_error(put(handle, own, 1, IN_CREATE, "../x"), EINVAL, "a name that is none");
	is_error(put(handle, handle, 1, IN_CREATE, "x"), EINVAL, "what is no inotify instance");
	is_error(put(handle, -1, 1, IN_CREATE, "x"), EBADF, "no descriptor");
	is_error(put(handle, foreign, 1, IN_CREATE, "x"), EPERM, "into another user's queue");
	ok(!next_is(own, 1, IN_CREATE, "x"), "nothing of that has come");
}

/* More than there is room for. */
static void too_many(int handle)
{
	long limit = 0, n = 0;
	FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "r");

	if (!file || fscanf(file, "%ld", &limit) != 1)
		die("max_queued_events");
	fclose(file);
	for (long i = 0; i < limit + 10; i++)
		if (put(handle, own, 3, IN_MODIFY, ""))
			die("CRYO_RST_INOTIFY_EVENT");
	while (next_is(own, 3, IN_MODIFY, ""))
		n++;
	ok(n == limit, "no more than max_queued_events are in the queue: %ld", n);
	/* The one that was not as expected has been read. */
	ok(!next_is(own, 3, IN_MODIFY, ""), "and one that tells of the others");
}

static void by_user(void)
{
	int handle = make_handle(1, 1);

	own = inotify_init1(IN_NONBLOCK);
	right_ones(handle);
	wrong_ones(handle);
	too_many(handle);
}

static void by_root(void)
{
	int handle = make_handle(1, 1);

	if (seteuid(ORDINARY))
		die("seteuid");
	own = inotify_init1(IN_NONBLOCK);
	if (seteuid(0))
		die("seteuid");
	is_error(put(handle, own, 3, IN_OPEN, ""), 0, "root, into a user's queue");
	ok(next_is(own, 3, IN_OPEN, ""), "where it is");
}

/* In a process of its own, which leaves how many results there have been. */
static void as_ordinary(void (*test)(void))
{
	volatile int *counts = shared_memory(2 * sizeof(*counts));
	int status;
	pid_t pid = fork();

	if (!pid) {
		become_user(ORDINARY);
		test();
		counts[0] = tap_count;
		counts[1] = tap_bad;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	tap_count = counts[0];
	tap_bad = counts[1];
	ok(!status, "the user's part comes to its end");
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid()) {
		puts("1..0 # SKIP needs root to become other users");
		return 0;
	}
	foreign = inotify_init1(IN_NONBLOCK);
	as_ordinary(by_user);
	ok(!next_is(foreign, 1, IN_CREATE, "x"), "root's queue is empty");
	by_root();
	return finish();
}
