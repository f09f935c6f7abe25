// SPDX-License-Identifier: GPL-2.0-only
/* The ids that somebody has chosen for the next System V objects of an ipc namespace of his own. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

#ifndef NEXT_FLAGS
#define NEXT_FLAGS 0
#endif

static int set;

static bool choose(const char *path, const char *id)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write(fd, id, strlen(id)) == (ssize_t)strlen(id);

	close(fd);
	return done;
}

static void setup(void)
{
	if (getuid())
		crt_unshare_users(0);
	CRT_SYS(unshare(CLONE_NEWIPC));
	set = (int)CRT_SYS(semget(IPC_PRIVATE, 1, 0600));
	if (!choose("/proc/sys/kernel/sem_next_id", "65543") || !choose("/proc/sys/kernel/msg_next_id", "0"))
		crt_skip("the next id of an object cannot be chosen");
}

static void same_text(const char *path, const char *text)
{
	char now[32] = "";

	crt_slurp(path, now, sizeof(now));
	now[strcspn(now, "\n")] = '\0';
	crt_same_str(now, text, "%s", path);
}

static void verify(void)
{
	crt_same(semctl(set, 0, GETVAL), 0, "a set of semaphores that is there");
	same_text("/proc/sys/kernel/sem_next_id", "65543");
	same_text("/proc/sys/kernel/msg_next_id", "0");
	same_text("/proc/sys/kernel/shm_next_id", "-1");
	crt_same(semget(IPC_PRIVATE, 1, 0600), 65543, "the next set gets the id");
	same_text("/proc/sys/kernel/sem_next_id", "-1");
	crt_same(msgget(IPC_PRIVATE, 0600), 0, "so does the next queue, though it is 0");
}

const struct crt_test crt_test = {
	.text = "chosen ids of the next System V objects",
	.setup = setup,
	.verify = verify,
	.flags = NEXT_FLAGS,
};
