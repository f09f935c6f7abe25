// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an ordinary user does to processes of a restart that he may signal, for the script `owner-stops`.
 *
 *   owner job			a process, and its child in a user and a pid namespace of its own
 *   owner child SIGNAL PID TIMES	signals children of that process, as soon as he may
 *   owner process SIGNAL PID TIMES	signals that process
 *
 * Says so once it has signalled one that a restart has made.  Ends after TIMES, and after 100 s.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LIMIT 100	/* s */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		perror(path);
	close(fd);
}

static void write_map(const char *path, unsigned int id)
{
	char text[32];

	snprintf(text, sizeof(text), "0 %u 1", id);
	write_file(path, text);
}

static int job(void)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWPID,
		.exit_signal = SIGCHLD,
	};
	unsigned int uid = geteuid(), gid = getegid();
	long pid;

	setsid();
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0) {
		perror("clone3");
		return 1;
	}
	if (!pid) {
		write_file("/proc/self/setgroups", "deny");
		write_map("/proc/self/uid_map", uid);
		write_map("/proc/self/gid_map", gid);
		puts("ready");
		fflush(stdout);
	}
	for (;;)
		pause();
}

static int read_at(const char *format, int pid, char *text, size_t size)
{
	char path[64];
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), format, pid, pid);
	fd = open(path, O_RDONLY);
	if (fd >= 0)
		got = read(fd, text, size - 1);
	close(fd);
	text[got > 0 ? got : 0] = 0;
	return got > 0;
}

/* Of the restart still, which has not resumed it. */
static int is_restarted(int pid)
{
	char name[32];

	return read_at("/proc/%d/comm", pid, name, sizeof(name)) && !strcmp(name, "cr_restart\n");
}

static int strike(int signal, int pid, int of_children, long times)
{
	time_t end = time(NULL) + LIMIT;
	long told = 0;

	while (time(NULL) < end && times > 0) {
		char list[256];
		int target = pid;

		if (of_children) {
			if (!read_at("/proc/%d/task/%d/children", pid, list, sizeof(list)))
				continue;
			target = atoi(list);
			if (target <= 0 || !is_restarted(target))
				continue;
		}
		while (times > 0 && !kill(target, signal) && time(NULL) < end) {
			times--;
			if (told++)
				continue;
			printf("struck %d\n", target);
			fflush(stdout);
		}
	}
	return !told;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return job();
	if (argc != 5)
		return 2;
	return strike(atoi(argv[2]), atoi(argv[3]), !strcmp(argv[1], "child"), atol(argv[4]));
}
