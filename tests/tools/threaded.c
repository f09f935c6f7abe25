/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * threaded - a process that keeps files of /proc about its other thread, and tells of them
 *
 * Ten times a second it writes a line to the file "told", which is made anew: the number of the thread, and what the files say that is.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int tid;

static void *live(void *arg)
{
	for (;;) {
		atomic_store(&tid, (int)syscall(SYS_gettid));
		usleep(10000);
	}
	return arg;
}

static int open_of(const char *format, int pid, int thread)
{
	char path[64];

	snprintf(path, sizeof(path), format, pid, thread);
	return open(path, O_RDONLY);
}

static int number(int fd)
{
	char text[64] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : -1;
}

int main(void)
{
	pthread_t id;
	int fds[3];

	if (pthread_create(&id, NULL, live, NULL))
		return 1;
	while (!atomic_load(&tid))
		usleep(1000);
	fds[0] = open_of("/proc/%1$d/task/%2$d/stat", getpid(), tid);
	fds[1] = open_of("/proc/%2$d/stat", getpid(), tid);
	fds[2] = open_of("/proc/%2$d/task/%2$d/stat", getpid(), tid);
	for (;; usleep(100000)) {
		FILE *told = fopen("told.new", "w");

		if (!told)
			return 1;
		fprintf(told, "%d %d %d %d %d\n", (int)syscall(SYS_getpid), tid, number(fds[0]), number(fds[1]), number(fds[2]));
		if (fclose(told) || rename("told.new", "told"))
			return 1;
	}
}
