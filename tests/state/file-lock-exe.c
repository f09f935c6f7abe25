// SPDX-License-Identifier: GPL-2.0-only
/* A process that holds a lock on its own executable, as programs do of which only one may run. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fd;

/* Has the process a lock on FD, as /proc/locks has it? */
static int locked(void)
{
	char line[256], wanted[64];
	struct stat st;
	FILE *file = fopen("/proc/locks", "r");
	int found = 0;

	if (!file)
		crt_die("cannot open /proc/locks");
	CRT_SYS(fstat(fd, &st));
	snprintf(wanted, sizeof(wanted), " POSIX  ADVISORY  READ %d ", getpid());
	while (fgets(line, sizeof(line), file)) {
		char inode[32];

		snprintf(inode, sizeof(inode), ":%lu ", (unsigned long)st.st_ino);
		found += strstr(line, wanted) && strstr(line, inode);
	}
	fclose(file);
	return found;
}

static void setup(void)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1 };

	fd = (int)CRT_SYS(open("/proc/self/exe", O_RDONLY));
	CRT_SYS(fcntl(fd, F_SETLK, &lock));
	if (locked() != 1)
		crt_die("the lock is not in /proc/locks");
}

static void verify(void)
{
	char exe[4096] = "", file[4096] = "", name[32];

	crt_same(locked(), 1, "locks of the process on its executable");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	CRT_SYS(readlink("/proc/self/exe", exe, sizeof(exe) - 1));
	CRT_SYS(readlink(name, file, sizeof(file) - 1));
	crt_same(strcmp(exe, file), 0, "difference between /proc/self/exe and the descriptor");
}

const struct crt_test crt_test = {
	.text = "a lock on the own executable",
	.setup = setup,
	.verify = verify,
};
