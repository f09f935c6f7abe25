/* SPDX-License-Identifier: GPL-2.0-only */
/* forked.h - a family of processes that look at their own memory when they are asked to, and the room that it takes */
#ifndef FORKED_H
#define FORKED_H

#include "crtest.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

#define FORKED_MOST 32

struct forked {
	atomic_uint ask, born, ready;
	struct {
		_Atomic pid_t pid;
		atomic_uint answered;
		atomic_long bad;		/* offset; -1: none */
	} child[FORKED_MOST];
};

static struct forked *forked;
static long forked_before;

static inline void forked_begin(void)
{
	forked = CRT_MAP(mmap(NULL, sizeof(*forked), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

/* In KiB: its part of the anonymous memory that it has. */
static inline long forked_part_of(pid_t pid)
{
	char path[64], line[256];
	long kib = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	f = fopen(path, "r");
	if (!f)
		crt_die("cannot open %s", path);
	while (fgets(line, sizeof(line), f) && sscanf(line, "Pss_Anon: %ld", &kib) != 1)
		;
	fclose(f);
	if (kib < 0)
		crt_die("%s has no Pss_Anon", path);
	return kib;
}

static inline long forked_sum(void)
{
	long sum = forked_part_of(getpid());

	for (unsigned int i = 0; i < forked->born; i++)
		sum += forked_part_of(forked->child[i].pid);
	return sum;
}

/* A child stays in this until it is killed. @find_bad: offset of what is wrong, -1; @change: its memory, afterwards. */
static inline void forked_live(unsigned int who, long (*find_bad)(unsigned int who),
			       void (*change)(unsigned int who, unsigned int asked))
{
	forked->child[who].pid = getpid();
	forked->ready++;
	for (unsigned int asked = 0;;) {
		while (forked->ask == asked)
			crt_sleep_ms(10);
		asked = forked->ask;
		forked->child[who].bad = find_bad(who);
		change(who, asked);
		forked->child[who].answered = asked;
	}
}

static inline void forked_await(void)
{
	while (forked->ready < forked->born)
		crt_sleep_ms(10);
}

static inline void forked_note(void)
{
	forked_await();
	forked_before = forked_sum();
}

static inline void forked_same_room(void)
{
	long now = forked_sum();

	crt_ok(now <= forked_before + forked_before / 10 + 1024,
	       "%u processes together take %ld KiB of anonymous memory, before %ld KiB", forked->born + 1, now, forked_before);
}

static inline void forked_ask_all(const char *when)
{
	unsigned int number = ++forked->ask;

	for (unsigned int i = 0; i < forked->born; i++) {
		for (int wait = 0; wait < 3000 && forked->child[i].answered != number; wait++)
			crt_sleep_ms(10);
		if (forked->child[i].answered != number)
			crt_ok(false, "%s: process %u answers", when, i);
		else if (forked->child[i].bad != -1)
			crt_same(forked->child[i].bad, -1, "%s: memory of process %u", when, i);
	}
	crt_ok(true, "%s: %u processes have been asked for their memory", when, forked->born);
}

static inline void forked_end(void)
{
	for (unsigned int i = 0; i < forked->born; i++)
		kill(forked->child[i].pid, SIGKILL);
}

#endif
