/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ns-owner.h - a parent and its child that have namespaces which are owned by another user namespace than the owner's own one, or a
 * time namespace that is the child's only. Compared with each other, and with the machine's.
 */
#ifndef NS_OWNER_H
#define NS_OWNER_H

#include "crtest.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

enum { PARENT, CHILD, MEMBERS, MACHINE = MEMBERS, ALL };

static const char *const members[ALL] = { "the parent", "the child", "the machine" };
static const char *const kinds[] = { "user", "uts", "ipc", "net", "mnt", "time", "time_for_children" };

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct {
	atomic_uint stage, round, end, told;
	char link[ALL][KINDS][64];
	char host[MEMBERS][64];
	char file[MEMBERS][64];	/* of a tmpfs on /mnt; empty: not there */
} *shared;

static char first[ALL][KINDS][64];
static pid_t child;
static unsigned int asked;

static void tell(int who)
{
	char path[64];
	int fd;

	for (size_t kind = 0; kind < KINDS; kind++) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[kind]);
		length = readlink(path, shared->link[who][kind], sizeof(shared->link[who][kind]) - 1);
		shared->link[who][kind][length < 0 ? 0 : length] = '\0';
	}
	if (who == MACHINE)
		return;
	gethostname(shared->host[who], sizeof(shared->host[who]) - 1);
	memset(shared->file[who], 0, sizeof(shared->file[who]));
	fd = open("/mnt/ns-owner", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, shared->file[who], sizeof(shared->file[who]) - 1) < 0)
		shared->file[who][0] = '\0';
	if (fd >= 0)
		close(fd);
}

static void ask_all(void)
{
	shared->round = ++asked;
	tell(PARENT);
	for (int i = 0; i < 1000 && shared->told != asked; i++)
		crt_sleep_ms(10);
}

static inline void wait_for_stage(unsigned int stage)
{
	while (shared->stage < stage)
		crt_sleep_ms(1);
}

/* Of the child, forked by clone(2) with @flags: @its work, and then what is asked of it. */
static void begin_child_in(unsigned long flags, void (*its)(void))
{
	child = (pid_t)CRT_SYS(syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0));
	if (child)
		return;
	its();
	while (!shared->end) {
		if (shared->told != shared->round) {
			tell(CHILD);
			shared->told = shared->round;
		}
		crt_sleep_ms(10);
	}
	_exit(0);
}

static inline void begin_child(void (*its)(void))
{
	begin_child_in(0, its);
}

static inline void enter_of(pid_t pid, const char *kind, int type)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kind);
	fd = (int)CRT_SYS(open(path, O_RDONLY | O_CLOEXEC));
	CRT_SYS(setns(fd, type));
	close(fd);
}

static void begin(void)
{
	shared = CRT_MAP(mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	tell(MACHINE);
}

static void settle(void)
{
	ask_all();
	memcpy(first, shared->link, sizeof(first));
}

static void verify_members(const char *const host[MEMBERS], const char *const file[MEMBERS])
{
	ask_all();
	crt_same(shared->told, asked, "the child is there");
	for (size_t kind = 0; kind < KINDS; kind++)
		for (int a = 0; a < ALL; a++)
			for (int b = 0; b < a; b++)
				crt_same(!strcmp(shared->link[a][kind], shared->link[b][kind]),
					 !strcmp(first[a][kind], first[b][kind]), "%s: %s and %s have the same",
					 kinds[kind], members[b], members[a]);
	for (int who = 0; who < MEMBERS; who++) {
		if (host[who])
			crt_same_str(shared->host[who], host[who], "host name of %s", members[who]);
		crt_same_str(shared->file[who], file ? file[who] : "", "file of %s", members[who]);
	}
	shared->end = 1;
	CRT_SYS(waitpid(child, NULL, 0));
}

#endif
