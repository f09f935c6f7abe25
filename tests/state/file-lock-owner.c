// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who owns a lock, as /proc/locks has it: the process that took it, which need not be the first to have the open file, nor
 * have it still. With "pid-namespace": the child is the first process of one.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OWN_FLOCK, OWN_LEASE, OWN_RANGE, OWN_DESCRIPTION, CHILD_FLOCK, LEFT_FLOCK, CHILD_LEASE, MAPPED_FLOCK, MAPPED_DESCRIPTION,
       FILES };

static const char *const names[] = {
	"flock(2)", "a lease", "a lock of the process", "a lock of the open file description",
	"flock(2) by a child, which shares the file", "flock(2) by a child that has closed the file", "a lease by a child",
	"flock(2) of a file that is mapped only", "a lock of the open file description of one that is mapped only",
};

static int fds[FILES];
static int before[FILES];
static pid_t child;

static int open_file(int which)
{
	char name[16];

	snprintf(name, sizeof(name), "file%d", which);
	fds[which] = (int)CRT_SYS(open(crt_make_file(name, 100, 1), O_RDWR));
	return fds[which];
}

/* The pid in the line about it; 0: there is no such line. */
static int owner_of(int which)
{
	char name[16], line[256], wanted[32];
	struct stat st;
	FILE *file;
	int pid = 0, found;

	snprintf(name, sizeof(name), "file%d", which);
	CRT_SYS(stat(crt_path(name), &st));
	snprintf(wanted, sizeof(wanted), ":%lu ", (unsigned long)st.st_ino);
	file = fopen("/proc/locks", "r");
	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, wanted) && sscanf(line, "%*d: %*s %*s %*s %d", &found) == 1)
			pid = found;
	if (file)
		fclose(file);
	return pid;
}

static void lock_in_child(void)
{
	CRT_SYS(flock(fds[CHILD_FLOCK], LOCK_EX));
	CRT_SYS(flock(fds[LEFT_FLOCK], LOCK_SH));
	CRT_SYS(close(fds[LEFT_FLOCK]));
	open_file(CHILD_LEASE);
	CRT_SYS(fcntl(fds[CHILD_LEASE], F_SETLEASE, F_WRLCK));
}

static void setup(void)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10 };
	int ready[2];
	char byte;

	if (crt_case)
		crt_unshare_users(CLONE_NEWPID);
	CRT_SYS(flock(open_file(OWN_FLOCK), LOCK_EX));
	CRT_SYS(fcntl(open_file(OWN_RANGE), F_SETLK, &range));
	CRT_SYS(fcntl(open_file(OWN_DESCRIPTION), F_OFD_SETLK, &range));
	open_file(CHILD_FLOCK);
	open_file(LEFT_FLOCK);
	CRT_SYS(pipe(ready));
	child = (pid_t)CRT_SYS(fork());
	if (!child) {
		lock_in_child();
		CRT_SYS(write(ready[1], "x", 1));
		for (;;)
			pause();
	}
	CRT_SYS(read(ready[0], &byte, 1));
	CRT_SYS(fcntl(open_file(OWN_LEASE), F_SETLEASE, F_WRLCK));
	CRT_SYS(flock(open_file(MAPPED_FLOCK), LOCK_EX));
	CRT_SYS(fcntl(open_file(MAPPED_DESCRIPTION), F_OFD_SETLK, &range));
	for (int i = MAPPED_FLOCK; i <= MAPPED_DESCRIPTION; i++) {
		CRT_MAP(mmap(NULL, crt_page(), PROT_READ, MAP_PRIVATE, fds[i], 0));
		CRT_SYS(close(fds[i]));
	}
	for (int i = 0; i < FILES; i++) {
		before[i] = owner_of(i);
		if (!before[i])
			crt_die("%s is not in /proc/locks", names[i]);
	}
}

static void verify(void)
{
	for (int i = 0; i < FILES; i++)
		crt_same(owner_of(i), before[i], "the owner of %s", names[i]);
	crt_same(before[OWN_FLOCK], getpid(), "which was the process itself");
	crt_same(before[CHILD_FLOCK], child, "or its child");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

const struct crt_test crt_test = {
	.text = "owners of file locks",
	.setup = setup,
	.verify = verify,
	.cases = "pid-namespace",
};
