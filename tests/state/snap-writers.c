// SPDX-License-Identifier: GPL-2.0-only
/*
 * A snapshot is of one moment: eight threads write to pages in random order while the context is being
 * written, and each keeps, in pages that it writes too, what it has written where.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define WRITERS	8
#define PAGE	((size_t)4096)
#define HUGE	((size_t)2 << 20)
#define SLOTS	512		/* pages of each writer */
#define WORDS	(PAGE / sizeof(uint64_t))

struct writer {
	pthread_t thread;
	uint64_t *pages;		/* SLOTS of them */
	uint64_t *written;		/* the number last written to each */
	uint64_t number;
	uint64_t random;
	atomic_long bad;		/* slot that was not as written, -1 */
};

static struct writer writers[WRITERS];
static atomic_bool end;
static unsigned char *pinned;		/* a page that is in a pipe */
static int pipe_fds[2];

static uint64_t next_random(struct writer *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static uint64_t word_of(uint64_t number, size_t slot, size_t i)
{
	return number * 0x9e3779b97f4a7c15 + slot * 8191 + i;
}

static bool is_written(struct writer *w, size_t slot)
{
	for (size_t i = 0; i < WORDS; i += 37)
		if (w->pages[slot * WORDS + i] != word_of(w->written[slot], slot, i))
			return false;
	return true;
}

static void write_slot(struct writer *w, size_t slot)
{
	w->number++;
	for (size_t i = 0; i < WORDS; i++)
		w->pages[slot * WORDS + i] = word_of(w->number, slot, i);
	w->written[slot] = w->number;
}

static void *run(void *arg)
{
	struct writer *w = arg;

	while (!end) {
		size_t slot = next_random(w) % SLOTS;

		if (!is_written(w, slot) && w->bad < 0)
			w->bad = (long)slot;
		write_slot(w, slot);
	}
	return NULL;
}

/* Half of them in huge pages, where there are any. */
static uint64_t *make_memory(int who, size_t size)
{
	unsigned char *p = CRT_MAP(mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	p = (unsigned char *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1));
	madvise(p, size, who % 2 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return (uint64_t *)(void *)p;
}

static void setup(void)
{
	struct iovec vec = { .iov_len = PAGE };

	pinned = CRT_MAP(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	crt_fill(pinned, PAGE, 5);
	CRT_SYS(pipe(pipe_fds));
	vec.iov_base = pinned;
	CRT_SYS(vmsplice(pipe_fds[1], &vec, 1, 0));
	for (int i = 0; i < WRITERS; i++) {
		struct writer *w = &writers[i];

		w->pages = make_memory(i, SLOTS * PAGE);
		w->written = make_memory(i, SLOTS * sizeof(uint64_t));
		w->random = 88172645463325252ULL + (uint64_t)i;
		w->bad = -1;
		for (size_t slot = 0; slot < SLOTS; slot++)
			write_slot(w, slot);
	}
	for (int i = 0; i < WRITERS; i++)
		if (pthread_create(&writers[i].thread, NULL, run, &writers[i]))
			crt_die("pthread_create");
}

static void verify(void)
{
	unsigned char piped[PAGE];

	end = true;
	for (int i = 0; i < WRITERS; i++) {
		struct writer *w = &writers[i];
		long bad = -1;

		pthread_join(w->thread, NULL);
		crt_same(w->bad, -1, "writer %d found what it had written", i);
		for (size_t slot = 0; slot < SLOTS; slot++)
			if (!is_written(w, slot))
				bad = (long)slot;
		crt_same(bad, -1, "pages of writer %d are what it says that it wrote last", i);
	}
	crt_same(crt_bad(pinned, PAGE, 5), -1, "a page that was in a pipe");
	crt_same(read(pipe_fds[0], piped, PAGE), (long long)PAGE, "the pipe has it, too");
	crt_same(crt_bad(piped, PAGE, 5), -1, "as it was");
}

#ifndef SNAP_WRITERS_INCLUDED
const struct crt_test crt_test = {
	.text = "memory that is written to while the context is, is as it was at one moment",
	.setup = setup,
	.verify = verify,
	.flags = CRT_RUNS_ON,
	.checkpoint_args = "--snapshot",
	.timeout_s = 120,
};
#endif
