// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes of which one waits for another in uninterruptible sleep.
 *
 *     busy-waits permissions DIRECTORY	three that open files in it all the time, and one that permits that (fanotify); as root
 *     busy-waits vfork			one in vfork(), whose child waits for a word of somebody else, every now and then
 *     busy-waits ring FILE		one with a request of io_uring that does not end, and a thread that writes to the file how often it
 *					did not run for a moment
 *
 * Says "up" when it has begun; ends by SIGTERM, with its children. A process that fails ends all.
 */
#define _GNU_SOURCE
#include "uring.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t parent;

static void die(const char *what)
{
	perror(what);
	kill(parent, SIGTERM);
	_exit(1);
}

static void sleep_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&time, &time))
		;
}

static void start(void (*run)(void *arg), void *arg)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	run(arg);
}

static void open_files(void *arg)
{
	for (;;) {
		int fd = open(arg, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			die("open");
		close(fd);
	}
}

/* Its own queue: the directory's files are not opened by it but by the kernel, for the event. */
static void permit(void *arg)
{
	struct pollfd group_has = { .fd = *(int *)arg, .events = POLLIN };
	int group = group_has.fd;
	struct fanotify_event_metadata event;

	for (;;) {
		struct fanotify_response answer = { .response = FAN_ALLOW };

		/* It is never without a new process for long. */
		if (!poll(&group_has, 1, 1)) {
			pid_t pid = fork();

			if (!pid)
				_exit(0);
			if (pid < 0 || waitpid(pid, NULL, 0) != pid)
				die("fork");
			continue;
		}
		if (read(group, &event, sizeof(event)) != sizeof(event))
			die("read");
		answer.fd = event.fd;
		if (write(group, &answer, sizeof(answer)) != sizeof(answer))
			die("write");
		close(event.fd);
	}
}

static void permissions(const char *directory)
{
	static char path[4096];
	int group = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC), fd;

	snprintf(path, sizeof(path), "%s/opened", directory);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (group < 0 || fd < 0 || fanotify_mark(group, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, path))
		die(path);
	close(fd);
	start(permit, &group);
	close(group);
	for (int i = 0; i < 3; i++)
		start(open_files, path);
}

static int words[2], requests[2];

static void answer(void *arg)
{
	char byte;

	(void)arg;
	while (read(requests[0], &byte, 1) == 1) {
		sleep_ms(100);
		if (write(words[1], &byte, 1) != 1)
			die("write");
	}
	die("read");
}

static void wait_in_vfork(void *arg)
{
	int status;

	(void)arg;
	for (;;) {
		pid_t pid = vfork();
		char byte = 0;

		if (!pid)
			_exit(write(requests[1], &byte, 1) == 1 && read(words[0], &byte, 1) == 1 ? 5 : 6);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 5)
			die("vfork");
		sleep_ms(400);
	}
}

/* What uring.h asks for. */
void *crt_check_map(void *at, const char *what)
{
	if (at == MAP_FAILED)
		die(what);
	return at;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

enum { STOPPED_MS = 100 };	/* a thread that sleeps for 2 ms was stopped meanwhile */

static void *count_stops(void *path)
{
	long before = now_ms();

	for (int stops = 0;;) {
		long now;

		sleep_ms(2);
		now = now_ms();
		if (now - before > STOPPED_MS) {
			FILE *file = fopen(path, "w");

			if (!file)
				die(path);
			fprintf(file, "%d\n", ++stops);
			fclose(file);
		}
		before = now;
	}
	return path;
}

static void ring(char *path)
{
	static struct uring r;
	struct io_uring_sqe *sqe;
	pthread_t thread;

	if (pipe2(words, O_CLOEXEC) || !uring_make(&r, 4, 0))
		die("io_uring");
	sqe = uring_add(&r, IORING_OP_POLL_ADD, words[0], NULL, 0, 1);
	sqe->poll32_events = POLLIN;
	if (uring_enter(&r, 1, 0) != 1 || pthread_create(&thread, NULL, count_stops, path))
		die("io_uring");
}

int main(int argc, char **argv)
{
	parent = getpid();
	if (argc == 3 && !strcmp(argv[1], "permissions")) {
		permissions(argv[2]);
	} else if (argc == 2 && !strcmp(argv[1], "vfork")) {
		if (pipe2(words, O_CLOEXEC) || pipe2(requests, O_CLOEXEC))
			die("pipe");
		start(answer, NULL);
		start(wait_in_vfork, NULL);
	} else if (argc == 3 && !strcmp(argv[1], "ring")) {
		ring(argv[2]);
	} else {
		return 2;
	}
	printf("up\n");
	fflush(stdout);
	for (;;)
		pause();
}
