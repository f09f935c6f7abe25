// SPDX-License-Identifier: GPL-2.0-only
/* Open files of /proc: the process's own, at their offset, tell of the process that it is. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int status_fd, memory_fd, dir_fd;
static char secret[] = "in my memory";
static char before[64];

static void setup(void)
{
	status_fd = (int)CRT_SYS(open("/proc/self/status", O_RDONLY));
	memory_fd = (int)CRT_SYS(open("/proc/self/mem", O_RDWR));
	dir_fd = (int)CRT_SYS(open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	CRT_SYS(read(status_fd, before, 20));
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
}

const struct crt_test crt_test = {
	.text = "open files of /proc/self",
	.setup = setup,
	.verify = verify,
};
