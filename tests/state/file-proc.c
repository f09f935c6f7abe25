// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open files of /proc: the process's own, at their offset, tell of the process that it is; and that of a child that has exited
 * and was not waited for.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int status_fd, memory_fd, dir_fd, child_fd, child_dir;
static char secret[] = "in my memory";
static char before[64];

static void setup(void)
{
	char path[64];
	pid_t child;

	status_fd = (int)CRT_SYS(open("/proc/self/status", O_RDONLY));
	memory_fd = (int)CRT_SYS(open("/proc/self/mem", O_RDWR));
	dir_fd = (int)CRT_SYS(open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	CRT_SYS(read(status_fd, before, 20));
	child = (pid_t)CRT_SYS(fork());
	if (!child)
		_exit(0);
	CRT_SYS(waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT));
	snprintf(path, sizeof(path), "/proc/%d", child);
	child_dir = (int)CRT_SYS(open(path, O_RDONLY | O_DIRECTORY));
	child_fd = (int)CRT_SYS(openat(child_dir, "stat", O_RDONLY));
}

static void verify(void)
{
	char text[4096] = "", line[64];
	int fd;

	snprintf(line, sizeof(line), "\nPid:\t%d\n", getpid());
	crt_same(lseek(status_fd, 0, SEEK_CUR), 20, "offset in the status file");
	CRT_SYS(pread(status_fd, text, sizeof(text) - 1, 0));
	crt_ok(strstr(text, line), "the status file is that of this process");
	memset(text, 0, sizeof(text));
	CRT_SYS(pread(memory_fd, text, sizeof(secret), (off_t)(uintptr_t)secret));
	crt_same_str(text, secret, "the memory file is this process's memory");
	fd = openat(dir_fd, "comm", O_RDONLY);
	crt_ok(fd >= 0 && read(fd, text, 10) > 0, "the directory is this process's");
	memset(text, 0, sizeof(text));
	crt_ok(pread(child_fd, text, sizeof(text) - 1, 0) > 0 && strstr(text, ") Z "), "that of a child tells that it has exited");
	crt_same(faccessat(child_dir, "status", R_OK, 0), 0, "its directory is there");
}

const struct crt_test crt_test = {
	.text = "open files of /proc/self",
	.setup = setup,
	.verify = verify,
};
