// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory with tags (PROT_MTE): each tag of each kind of memory that can have any, also where nothing else is in a page,
 * where nobody may read or write it, and where nobody has it mapped; and what a wrong tag does.
 */
#define _GNU_SOURCE
#include "tagged.h"
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>

#ifndef RESTART_ARGS
#define RESTART_ARGS NULL
#endif

#define HUGE ((size_t)2 << 20)
#define LARGE (3 * HUGE)		/* more than what cr_restart --map leaves to the module */

static size_t page;
static int fd, unmapped;
static pid_t child;
static struct sigaction old;
static sigjmp_buf back;
static volatile int code;
static void *volatile where;

/* In memory with no tags, for the child. */
static struct {
	atomic_int ready, ask, answered;
	atomic_long bad;
} *shared;

static struct area {
	const char *name;
	char *start;
	size_t size;
	int prot;			/* now */
	bool empty;			/* no byte has been written */
} areas[16];
static unsigned int nr_areas;

static bool two_tags;

/* Some pages have no tags, and some a single one. */
static unsigned int tag_of(unsigned int seed, size_t offset)
{
	size_t number = offset / page, granule = offset % page / GRANULE;

	if (two_tags)
		granule %= 2;

	if (number % 5 == 3)
		return 0;
	if (number % 5 == 4)
		return granule == (two_tags ? 1 : page / GRANULE - 1) ? 9 : 0;
	return (unsigned int)(granule * 7 + number * 3 + seed + granule / 16) & 15;
}

static void set_tags(char *start, size_t size, unsigned int seed)
{
	for (size_t at = 0; at < size; at += GRANULE)
		set_tag(start + at, tag_of(seed, at));
}

/* Offset of the first wrong one, -1: none. */
static long bad_tag(const char *start, size_t size, unsigned int seed)
{
	for (size_t at = 0; at < size; at += GRANULE)
		if (get_tag(start + at) != tag_of(seed, at))
			return (long)at;
	return -1;
}

static struct area *add(const char *name, void *start, size_t size, bool empty)
{
	areas[nr_areas] = (struct area){ name, start, size, PROT_READ | PROT_WRITE, empty };
	if (!empty)
		crt_fill(start, size, nr_areas + 40);
	set_tags(start, size, nr_areas);
	return &areas[nr_areas++];
}

static void protect(struct area *area, int prot)
{
	CRT_SYS(mprotect(area->start, area->size, prot | TAGS));
	area->prot = prot;
}

static char *map(size_t size, int flags, int file)
{
	return CRT_MAP(mmap(NULL, size, PROT_READ | PROT_WRITE | TAGS, flags, file, 0));
}

static char *anonymous(size_t size)
{
	return map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static int make_memfd(const char *name)
{
	int made = (int)CRT_SYS(memfd_create(name, 0));

	CRT_SYS(ftruncate(made, 8 * (off_t)page));
	return made;
}

static char *moved(size_t size)
{
	char *old_place = anonymous(size), *place = CRT_MAP(mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	set_tags(old_place, size, 3);
	return CRT_MAP(mremap(old_place, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place));
}

static char *huge(void)
{
	char *start = anonymous(LARGE + HUGE);

	start += -(uintptr_t)start & (HUGE - 1);
	CRT_SYS(madvise(start, LARGE, MADV_HUGEPAGE));
	return start;
}

static char *segment(size_t size)
{
	int id = (int)CRT_SYS(shmget(IPC_PRIVATE, size, 0600));
	char *start = CRT_MAP(shmat(id, NULL, 0));

	CRT_SYS(shmctl(id, IPC_RMID, NULL));
	CRT_SYS(mprotect(start, size, PROT_READ | PROT_WRITE | TAGS));
	return start;
}

/* Of a private mapping of a file that has tags, the first half is the process's own. */
static void half_own(void)
{
	char *file = map(8 * page, MAP_SHARED, fd), *own = map(8 * page, MAP_PRIVATE, fd);

	add("a memfd", file, 8 * page, false);
	for (size_t at = 0; at < 4 * page; at += GRANULE)
		set_tag(own + at, (tag_of(nr_areas - 1, at) + 5) & 15);
	areas[nr_areas++] = (struct area){ "a private mapping", own, 8 * page, PROT_READ | PROT_WRITE, true };
}

static long bad_in_private(const struct area *area, unsigned int seed)
{
	for (size_t at = 0; at < 4 * page; at += GRANULE)
		if (get_tag(area->start + at) != ((tag_of(seed - 1, at) + 5) & 15))
			return (long)at;
	for (size_t at = 4 * page; at < area->size; at += GRANULE)
		if (get_tag(area->start + at) != tag_of(seed - 1, at))
			return (long)at;
	return -1;
}

/* Has changed the tags of a page that it has in common with its parent, and not a byte. */
static void live(void)
{
	for (size_t at = page; at < 2 * page; at += GRANULE)
		set_tag(areas[0].start + at, 15 - tag_of(0, at));
	shared->ready = 1;
	for (int asked = 0;;) {
		while (shared->ask == asked)
			crt_sleep_ms(10);
		asked = shared->ask;
		shared->bad = bad_tag(areas[0].start, page, 0);
		for (size_t at = page; at < 2 * page; at += GRANULE)
			if (get_tag(areas[0].start + at) != 15 - tag_of(0, at))
				shared->bad = (long)at;
		shared->answered = asked;
	}
}

static void setup(void)
{
	int other;

	need_tags();
	page = crt_page();
	two_tags = page_has_two_tags(anonymous(page));
	if (two_tags)
		crt_diag("this emulator has two tags for a page");
	add("private memory", anonymous(64 * page), 64 * page, false);
	add("memory that is zero", anonymous(16 * page), 16 * page, true);
	protect(add("memory that can only be read", anonymous(16 * page), 16 * page, false), PROT_READ);
	protect(add("memory that nobody may touch", anonymous(16 * page), 16 * page, false), PROT_NONE);
	add("memory that has been moved", moved(16 * page), 16 * page, false);
	add("huge pages", huge(), LARGE, false);
	add("shared memory", map(16 * page, MAP_SHARED | MAP_ANONYMOUS, -1), 16 * page, false);
	add("System V shared memory", segment(8 * page), 8 * page, true);
	fd = make_memfd("tagged");
	half_own();
	/* The file keeps them although it is not mapped. */
	unmapped = make_memfd("unmapped");
	other = (int)nr_areas;
	add("a memfd that was not mapped", map(8 * page, MAP_SHARED, unmapped), 8 * page, false);
	CRT_SYS(munmap(areas[other].start, areas[other].size));
	areas[other].start = NULL;
	CRT_SYS(prctl(PR_SET_TAGGED_ADDR_CTRL, TAGGED_SYNC, 0, 0, 0));
	shared = CRT_MAP(mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	child = (pid_t)CRT_SYS(fork());
	if (!child)
		live();
	while (!shared->ready)
		crt_sleep_ms(1);
}

static void on_segv(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	code = info->si_code;
	where = info->si_addr;
	siglongjmp(back, 1);
}

/* What a write by this address meets: 0 or the code of a SIGSEGV. */
static int write_to(volatile char *address)
{
	code = 0;
	if (!sigsetjmp(back, 1))
		*address = *address;
	return code;
}

static void look_at(unsigned int i)
{
	struct area *area = &areas[i];
	bool private = !strcmp(area->name, "a private mapping");
	char flags[512] = "";

	if (!area->start)
		area->start = map(area->size, MAP_SHARED, unmapped);
	crt_ok(crt_smaps(area->start, "VmFlags", flags, sizeof(flags)) && crt_has_word(flags, "mt"),
	       "%s: can have tags (%s)", area->name, flags);
	if (!(area->prot & PROT_READ))
		CRT_SYS(mprotect(area->start, area->size, PROT_READ | TAGS));
	crt_same(private ? bad_in_private(area, i) : bad_tag(area->start, area->size, i), -1,
		 "%s: the first wrong tag", area->name);
	/* crt_bad() reads by addresses without tags. */
	CRT_SYS(prctl(PR_SET_TAGGED_ADDR_CTRL, PR_TAGGED_ADDR_ENABLE, 0, 0, 0));
	if (!area->empty)
		crt_same(crt_bad(area->start, area->size, i + 40), -1, "%s: the first wrong byte", area->name);
	CRT_SYS(prctl(PR_SET_TAGGED_ADDR_CTRL, TAGGED_SYNC, 0, 0, 0));
	if (!(area->prot & PROT_READ))
		CRT_SYS(mprotect(area->start, area->size, area->prot | TAGS));
}

static void look_at_faults(void)
{
	struct sigaction act = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };
	char *start = areas[0].start + 5 * GRANULE;
	unsigned int right = tag_of(0, 5 * GRANULE);

	CRT_SYS(sigaction(SIGSEGV, &act, &old));
	crt_same(write_to(with_tag(start, right)), 0, "an address with the right tag");
	crt_same(write_to(with_tag(start, (right + 1) & 15)), TAG_FAULT, "an address with a wrong tag");
	crt_ok(with_tag(where, 0) == start, "the fault was there");
	CRT_SYS(sigaction(SIGSEGV, &old, NULL));
}

static void verify(void)
{
	int number = ++shared->ask;

	crt_same(prctl(PR_GET_TAGGED_ADDR_CTRL, 0, 0, 0, 0), TAGGED_SYNC, "control of the thread");
	for (unsigned int i = 0; i < nr_areas; i++)
		look_at(i);
	look_at_faults();
	while (shared->answered != number && !waitpid(child, NULL, WNOHANG))
		crt_sleep_ms(10);
	crt_same(shared->answered, number, "the child answers");
	crt_same(shared->bad, -1, "the first wrong tag of the child");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

const struct crt_test crt_test = {
	.text = "tags of memory (PROT_MTE)",
	.setup = setup,
	.verify = verify,
	.restart_args = RESTART_ARGS,
};
