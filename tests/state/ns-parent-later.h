/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ns-parent-later.h - a parent that enters namespaces of its own when it has a child already, which leads a session, and has another
 * one then
 */
#ifndef NS_PARENT_LATER_H
#define NS_PARENT_LATER_H

#include "crtest.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BEFORE, AFTER, PARENT, MEMBERS };

static const char *const members[MEMBERS] = { "the child forked before", "the child forked after", "the parent" };
static const char *const kinds[] = { "user", "uts", "ipc", "net", "mnt", "time", "time_for_children" };

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct {
	atomic_uint round, end, told[MEMBERS];
	char link[MEMBERS][KINDS][64];
	pid_t session[MEMBERS];
} *shared;

static char first[MEMBERS][KINDS][64];
static pid_t session[MEMBERS];
static pid_t children[PARENT];
static unsigned int asked;

static void tell(int who)
{
	char path[64];

	for (size_t kind = 0; kind < KINDS; kind++) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[kind]);
		length = readlink(path, shared->link[who][kind], sizeof(shared->link[who][kind]) - 1);
		shared->link[who][kind][length < 0 ? 0 : length] = '\0';
	}
	shared->session[who] = getsid(0);
	shared->told[who] = shared->round;
}

static void begin_child(int who)
{
	children[who] = (pid_t)CRT_SYS(fork());
	if (children[who])
		return;
	if (who == BEFORE)
		CRT_SYS(setsid());
	while (!shared->end) {
		if (shared->told[who] != shared->round)
			tell(who);
		crt_sleep_ms(10);
	}
	_exit(0);
}

static void ask_all(void)
{
	shared->round = ++asked;
	tell(PARENT);
	for (int i = 0; i < 1000 && (shared->told[BEFORE] != asked || shared->told[AFTER] != asked); i++)
		crt_sleep_ms(10);
}

static void begin(void (*enter)(void))
{
	shared = CRT_MAP(mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	begin_child(BEFORE);
	ask_all();
	enter();
	begin_child(AFTER);
	ask_all();
	memcpy(first, shared->link, sizeof(first));
	memcpy(session, shared->session, sizeof(session));
}

static void verify(void)
{
	ask_all();
	for (int who = 0; who < MEMBERS; who++)
		crt_same(shared->told[who], asked, "%s is there", members[who]);
	crt_same(shared->session[BEFORE], session[BEFORE], "%s leads its session", members[BEFORE]);
	for (size_t kind = 0; kind < KINDS; kind++)
		for (int a = 0; a < MEMBERS; a++)
			for (int b = 0; b < a; b++)
				crt_same(!strcmp(shared->link[a][kind], shared->link[b][kind]),
					 !strcmp(first[a][kind], first[b][kind]), "%s: %s and %s have the same",
					 kinds[kind], members[b], members[a]);
	/* That of the machine, which is the same after a restart. */
	crt_same_str(shared->link[BEFORE][0], first[BEFORE][0], "user namespace of %s", members[BEFORE]);
	for (int who = 0; who < PARENT; who++) {
		/* Who is in a user namespace may not kill its child outside of that. */
		shared->end = 1;
		CRT_SYS(waitpid(children[who], NULL, 0));
	}
}

#endif
