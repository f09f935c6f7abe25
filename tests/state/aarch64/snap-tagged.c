// SPDX-License-Identifier: GPL-2.0-only
/*
 * A snapshot has the tags of memory of one moment: threads change them, and not a byte, while the context is being
 * written, and each looks first whether they are as it has left them.
 */
#define _GNU_SOURCE
#include "tagged.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define THREADS	2
#define PAGES	256U

static size_t page;
static atomic_bool end;

static struct changer {
	pthread_t thread;
	char *memory;
	unsigned int number;		/* of the round */
	atomic_long bad;		/* offset of what was not as left, -1 */
	atomic_uint rounds;
} changers[THREADS];

/* A tag for each page and round; what has not come in this round has that of the last. */
static unsigned int tag_of(size_t number, unsigned int round)
{
	return (unsigned int)(number * 5 + round) & 15;
}

static void change(struct changer *c, size_t number)
{
	char *start = c->memory + number * page;

	for (size_t at = 0; at < page; at += GRANULE)
		if (get_tag(start + at) != tag_of(number, c->number - 1) && c->bad < 0)
			c->bad = (long)(number * page + at);
	for (size_t at = 0; at < page; at += GRANULE)
		set_tag(start + at, tag_of(number, c->number));
}

static void *run(void *arg)
{
	struct changer *c = arg;

	while (!end) {
		c->number++;
		for (size_t i = 0; i < PAGES; i++)
			change(c, i);
		c->rounds++;
	}
	return NULL;
}

static void setup(void)
{
	need_tags();
	page = crt_page();
	for (unsigned int i = 0; i < THREADS; i++) {
		struct changer *c = &changers[i];

		c->memory = CRT_MAP(mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE | TAGS,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		for (size_t at = 0; at < PAGES * page; at += GRANULE)
			set_tag(c->memory + at, tag_of(at / page, 0));
		c->bad = -1;
		if (pthread_create(&c->thread, NULL, run, c))
			crt_die("pthread_create");
	}
}

static void verify(void)
{
	unsigned int rounds[THREADS];

	for (unsigned int i = 0; i < THREADS; i++) {
		rounds[i] = changers[i].rounds;
		while (changers[i].rounds < rounds[i] + 2 && changers[i].bad < 0)
			crt_sleep_ms(10);
	}
	end = true;
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(changers[i].thread, NULL);
		crt_same(changers[i].bad, -1, "thread %u: the first tag that is not as left (%u rounds before)", i, rounds[i]);
	}
}

const struct crt_test crt_test = {
	.text = "tags of memory in a snapshot",
	.setup = setup,
	.verify = verify,
	.flags = CRT_RUNS_ON,
	.checkpoint_args = "--snapshot",
};
