// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that parent and children have had in common since fork(), until one of them writes: each sees
 * its own, and the context has it once.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN	4
#ifndef SIZE
#define SIZE		((size_t)8 << 20)
#define ADVICE		MADV_NORMAL
#endif
#define PAGE		((size_t)4096)

static unsigned char *memory;
static pid_t child[CHILDREN];

static struct {
	atomic_uint ask, ready;
	struct {
		atomic_uint answered;
		atomic_long bad;		/* offset */
	} child[CHILDREN];
} *shared;

/* Each has changed a page in the middle of its own, and one that is zero now. */
static size_t own_page(int who)
{
	return SIZE / (CHILDREN + 2) * (size_t)(who + 1) / PAGE * PAGE;
}

static void change(int who, uint64_t seed)
{
	crt_fill(memory + own_page(who), PAGE, seed);
	memset(memory + own_page(who) + PAGE, 0, PAGE);
}

static long find_bad(int who, uint64_t seed)
{
	/* Not in .bss, where a huge page of zeros may be in all processes. */
	unsigned char *expected = CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	size_t own = who < 0 ? SIZE : own_page(who);
	long bad = -1;

	crt_fill(expected, SIZE, 7);
	if (who >= 0) {
		crt_fill(expected + own, PAGE, seed);
		memset(expected + own + PAGE, 0, PAGE);
	}
	for (size_t i = 0; i < SIZE && bad < 0; i++)
		if (memory[i] != expected[i])
			bad = (long)i;
	munmap(expected, SIZE);
	return bad;
}

static void live(int who)
{
	change(who, (uint64_t)who + 100);
	shared->ready++;
	for (unsigned int asked = 0;;) {
		while (shared->ask == asked)
			crt_sleep_ms(10);
		asked = shared->ask;
		shared->child[who].bad = find_bad(who, (uint64_t)who + 100 * asked);
		change(who, (uint64_t)who + 100 * (asked + 1));
		shared->child[who].answered = asked;
	}
}

static void setup(void)
{
	shared = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	memory = CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	madvise(memory, SIZE, ADVICE);
	crt_fill(memory, SIZE, 7);
	for (int i = 0; i < CHILDREN; i++) {
		child[i] = (pid_t)CRT_SYS(fork());
		if (!child[i])
			live(i);
	}
	while (shared->ready < CHILDREN)
		crt_sleep_ms(10);
}

/* Twice: what one has written after the restart must not be seen by another. */
static void ask_all(const char *when)
{
	unsigned int number = ++shared->ask;

	for (int i = 0; i < CHILDREN; i++) {
		for (int wait = 0; wait < 3000 && shared->child[i].answered != number; wait++)
			crt_sleep_ms(10);
		crt_same(shared->child[i].answered, number, "%s: child %d answers", when, i);
		crt_same(shared->child[i].bad, -1, "%s: its memory", when);
	}
	crt_same(find_bad(-1, 0), -1, "%s: memory of the parent", when);
}

static void verify(void)
{
	ask_all("first");
	ask_all("then");
	for (int i = 0; i < CHILDREN; i++) {
		kill(child[i], SIGKILL);
		CRT_SYS(waitpid(child[i], NULL, 0));
	}
}

#ifndef MEM_COW_INCLUDED
const struct crt_test crt_test = {
	.text = "memory in common since fork() is each process's own, and is saved once",
	.setup = setup,
	.verify = verify,
	.max_context_kib = 12 << 10,
};
#endif
