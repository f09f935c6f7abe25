// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tree of processes that fork, write to pages, clear, protect and unmap them at random: each finds its own memory after the restart,
 * and all together take no more room than before.
 */
#define _GNU_SOURCE
#include "forked.h"
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#define PAGES 2048
#define MOST 14
#define ROUNDS 60
#define LONGEST 96		/* pages of one operation */
#define ABSENT (~0U)

static unsigned char *memory;
static unsigned int version[PAGES];	/* what the pages are; 0: zero */
static unsigned char is_protected[PAGES];
static unsigned int written, self;	/* self: 0 the first process, then its number plus 1 */
static unsigned int seed, state;

static unsigned int draw(unsigned int limit)
{
	state = state * 1664525 + 1013904223;
	return (unsigned int)((uint64_t)(state >> 4) * limit >> 28);
}

static uint64_t *page_at(unsigned int page)
{
	return (uint64_t *)(memory + page * crt_page());
}

static uint64_t word(unsigned int page, unsigned int i)
{
	return version[page] ? version[page] * 0x9e3779b97f4a7c15 + page * 4099 + i : 0;
}

static void write_page(unsigned int page)
{
	if (version[page] == ABSENT)
		CRT_MAP(mmap(page_at(page), crt_page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	else if (is_protected[page])
		CRT_SYS(mprotect(page_at(page), crt_page(), PROT_READ | PROT_WRITE));
	is_protected[page] = 0;
	version[page] = self << 16 | ++written;
	for (unsigned int i = 0; i < crt_page() / sizeof(uint64_t); i++)
		page_at(page)[i] = word(page, i);
}

static void protect_page(unsigned int page)
{
	if (version[page] == ABSENT)
		return;
	CRT_SYS(mprotect(page_at(page), crt_page(), PROT_READ));
	is_protected[page] = 1;
}

static void clear_page(unsigned int page)
{
	if (version[page] == ABSENT)
		return;
	CRT_SYS(madvise(page_at(page), crt_page(), MADV_DONTNEED));
	version[page] = 0;
}

static void unmap_page(unsigned int page)
{
	CRT_SYS(munmap(page_at(page), crt_page()));
	version[page] = ABSENT;
	is_protected[page] = 0;
}

static void act(void)
{
	static void (*const acts[])(unsigned int page) = {
		write_page, write_page, write_page, write_page, write_page, clear_page, protect_page, unmap_page,
	};
	unsigned int kind = draw(8), length = 1 + draw(kind < 6 ? LONGEST : 8), page = draw(PAGES);

	for (unsigned int i = 0; i < length && page + i < PAGES; i++)
		acts[kind](page + i);
}

static long find_bad(unsigned int who)
{
	(void)who;
	for (unsigned int page = 0; page < PAGES; page++)
		for (unsigned int i = 0; version[page] != ABSENT && i < crt_page() / sizeof(uint64_t); i++)
			if (page_at(page)[i] != word(page, i))
				return (long)(page * crt_page() + i * sizeof(uint64_t));
	return -1;
}

static void change(unsigned int who, unsigned int asked)
{
	(void)who, (void)asked;
	for (int i = 0; i < 5; i++)
		act();
}

static void live(void);

static void start(void)
{
	unsigned int who = forked->born++;

	if (who >= MOST) {
		forked->born--;
		return;
	}
	if (CRT_SYS(fork()))
		return;
	self = who + 1;
	written = 0;
	state = seed + self * 77;
	live();
	forked_live(who, find_bad, change);
}

static void live(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		act();
		if (draw(12) == 0)
			start();
	}
}

static void setup(void)
{
	CRT_SYS(getrandom(&seed, sizeof(seed), 0));
	if (crt_case)
		seed = (unsigned int)strtoul(crt_case, NULL, 0);
	state = seed;
	crt_diag("seed %u", seed);
	forked_begin();
	memory = CRT_MAP(mmap(NULL, PAGES * crt_page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	for (unsigned int page = 0; page < PAGES; page++)
		write_page(page);
	start();
	live();
	forked_note();
}

static void verify(void)
{
	forked_same_room();
	for (int i = 0; i < 3; i++) {
		char when[32];

		snprintf(when, sizeof(when), "time %d", i + 1);
		forked_ask_all(when);
		crt_same(find_bad(0), -1, "%s: memory of the first process", when);
		change(0, 0);
	}
	forked_end();
}

const struct crt_test crt_test = {
	.text = "a tree of processes that write, fork and unmap at random",
	.setup = setup,
	.verify = verify,
	.timeout_s = 180,
};
