// SPDX-License-Identifier: GPL-2.0-only
/*
 * What processes have shared since fork() until one of them writes: after the restart it takes its room once, as before, and
 * is each one's own.  Cases: many small areas; generations of children between which the parent has written to all of it; children
 * that have given back, protected and cleared parts; areas that have been moved since; a file that is mapped privately; the heap; huge pages.
 */
#define _GNU_SOURCE
#include "forked.h"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef CASES
#define CASES "small generations parts moved file heap huge"
#endif
#define SIZE ((size_t)8 << 20)
#define CHILDREN 4

static unsigned char *memory;
static size_t step = SIZE;	/* what lies between areas, at the end of each, cannot be written to */
static uint64_t seed = 7;

static bool is_case(const char *name)
{
	return crt_case && !strcmp(crt_case, name);
}

static size_t part(unsigned int who)
{
	return SIZE / 16 * (who + 2);
}

static bool is_in_part(unsigned int who, size_t at)
{
	return is_case("parts") && at >= part(who) && at < part(who + 1);
}

static long find_bad(unsigned int who)
{
	unsigned char *expected = malloc(crt_page());
	long bad = -1;

	for (size_t at = 0; at < SIZE && bad < 0; at += crt_page()) {
		if (is_in_part(who, at) && who == 0)
			continue;
		if (is_in_part(who, at) && who == 2)
			memset(expected, 0, crt_page());
		else
			crt_fill(expected, crt_page(), seed + at);
		if (memcmp(memory + at, expected, crt_page()))
			bad = (long)at;
	}
	free(expected);
	return bad;
}

static void fill(void)
{
	for (size_t at = 0; at < SIZE; at += crt_page())
		crt_fill(memory + at, crt_page(), seed + at);
}

/* The others must not see it. */
static void change(unsigned int who, unsigned int asked)
{
	if (is_case("parts") || step != SIZE)
		return;
	seed = 1000000 * (who + 1) + asked;
	fill();
}

static void take_part(unsigned int who)
{
	size_t size = part(who + 1) - part(who);

	if (who == 0)
		CRT_SYS(munmap(memory + part(who), size));
	if (who == 1)
		CRT_SYS(mprotect(memory + part(who), size, PROT_READ));
	if (who == 2)
		CRT_SYS(madvise(memory + part(who), size, MADV_DONTNEED));
	if (who == 3)
		CRT_SYS(madvise(memory + part(who), size, MADV_DONTDUMP));
}

/* Some of it, to where nothing is. */
static void move(void)
{
	size_t size = SIZE / 4 * 3;
	void *to = CRT_MAP(mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));

	CRT_MAP(mremap(memory, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	CRT_MAP(mremap(memory + size, SIZE - size, SIZE - size, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)to + size));
	memory = to;
}

static void start(bool has_child)
{
	unsigned int who = forked->born++;
	pid_t pid = (pid_t)CRT_SYS(fork());

	if (!pid) {
		if (has_child)
			start(false);
		if (is_case("parts"))
			take_part(who);
		if (is_case("moved") && who % 2)
			move();
		forked_live(who, find_bad, change);
	}
	while (!forked->child[who].pid)
		crt_sleep_ms(10);
}

static void *make(void)
{
	if (is_case("file")) {
		int fd = (int)CRT_SYS(open(crt_make_file("mapped", SIZE, 5), O_RDONLY));

		return CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
	}
	if (is_case("heap")) {
		uintptr_t top = (uintptr_t)sbrk(0), start = (top + crt_page() - 1) & -crt_page();

		CRT_SYS(brk((void *)(start + SIZE)));
		return (void *)start;
	}
	return CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void setup(void)
{
	forked_begin();
	memory = make();
	if (is_case("huge"))
		madvise(memory, SIZE, MADV_HUGEPAGE);
	if (is_case("small"))
		step = (size_t)1 << 20;
	fill();
	for (size_t at = step; step != SIZE && at <= SIZE; at += step)
		CRT_SYS(mprotect(memory + at - crt_page(), crt_page(), PROT_READ));
	for (int i = 0; i < CHILDREN; i++) {
		start(is_case("generations"));
		if (is_case("generations") && i % 2) {
			seed += 13;
			fill();
		}
	}
	if (is_case("moved"))
		move();
	forked_note();
}

static void verify(void)
{
	forked_same_room();
	forked_ask_all("first");
	crt_same(find_bad(CHILDREN), -1, "memory of the parent");
	forked_ask_all("then");
	crt_same(find_bad(CHILDREN), -1, "memory of the parent");
	forked_end();
}

const struct crt_test crt_test = {
	.text = "memory that processes share since fork() stays shared",
	.setup = setup,
	.verify = verify,
	.max_context_kib = 80 << 10,
	.timeout_s = 180,
	.cases = CASES,
#ifdef CHECKPOINT_ARGS
	.checkpoint_args = CHECKPOINT_ARGS,
#endif
#ifdef RESTART_ARGS
	.restart_args = RESTART_ARGS,
#endif
};
