/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dirtier COMMANDS ANSWERS - a process that changes its memory on request
 *
 * Reads words from the FIFO COMMANDS; each is done, and then ANSWERS is "N WORD STATUS SUM": how many there have been,
 * which, whether it could be done, and a checksum of all of the memory that it has.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

#define PAGE	((size_t)4096)	/* x86-64, where the account of writes is */
#define PAGES	512		/* of an area: a page table */
#define SIZE	(PAGES * PAGE)
#define WORDS	(PAGE / sizeof(uint64_t))

/* Of two each, so that no two of them touch, at the same addresses after exec(). */
enum area { PLAIN, GONE, FIRST, SECOND, HOLE, READABLE, HUGE, PAGED, TWINS, FORKED, GROWN, AREAS };

static uint64_t stamp = 1;
static const char *commands, *answers;
static char **arguments;
static char *heap;
static size_t heap_pages;

static char *area(enum area a)
{
	return (char *)0x100000000000 + a * 4 * SIZE;
}

static char *page_of(enum area a, size_t page)
{
	return area(a) + page * PAGE;
}

static void fill(char *page)
{
	uint64_t *words = (uint64_t *)page;

	stamp++;
	for (size_t i = 0; i < WORDS; i++)
		words[i] = stamp * 0x9e3779b97f4a7c15 + (uintptr_t)page + i;
}

static void fill_some(enum area a, size_t first, size_t step)
{
	for (size_t i = first; i < PAGES; i += step)
		fill(page_of(a, i));
}

static int map(enum area a, size_t page, size_t pages)
{
	return mmap(page_of(a, page), pages * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? errno : 0;
}

static uint64_t add(uint64_t sum, const char *from, size_t pages)
{
	const uint64_t *words = (const uint64_t *)from;

	for (size_t i = 0; i < pages * WORDS; i++)
		sum = (sum ^ words[i]) * 0x100000001b3 + (sum >> 29);
	return sum;
}

static uint64_t sum_of_all(void)
{
	uint64_t sum = stamp;

	for (enum area a = 0; a < AREAS; a++)
		sum = add(sum, area(a), PAGES);
	return add(sum, heap, heap_pages);
}

static void make(void)
{
	for (enum area a = 0; a < AREAS; a++) {
		if (map(a, 0, PAGES))
			abort();
		madvise(area(a), SIZE, a == HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
		fill_some(a, 0, 1);
	}
	heap = sbrk(0);
	heap = sbrk((intptr_t)(PAGE - (uintptr_t)heap % PAGE) % (intptr_t)PAGE) + (PAGE - (uintptr_t)heap % PAGE) % PAGE;
	heap_pages = 64;
	sbrk((intptr_t)(heap_pages * PAGE));
	for (size_t i = 0; i < heap_pages; i++)
		fill(heap + i * PAGE);
}

/* --- what can be asked for ------------------------------------------------------------------ */

static int do_nothing(void) { return 0; }

static int do_write(void)
{
	fill_some(PLAIN, stamp % 13, 17);
	return 0;
}

/* Dropped pages: some stay away, some are read (zero pages), some written to again. */
static int do_drop(void)
{
	volatile char *p = area(GONE);

	if (madvise(page_of(GONE, 10), 200 * PAGE, MADV_DONTNEED))
		return errno;
	for (size_t i = 20; i < 100; i++)
		(void)p[i * PAGE];
	for (size_t i = 90; i < 120; i++)
		fill(page_of(GONE, i));
	return 0;
}

/* Whole page tables change their places. */
static int do_exchange(void)
{
	char *aside = area(AREAS);

	if (mremap(area(FIRST), SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, aside) == MAP_FAILED ||
	    mremap(area(SECOND), SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, area(FIRST)) == MAP_FAILED ||
	    mremap(aside, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, area(SECOND)) == MAP_FAILED)
		return errno;
	return 0;
}

/* One comes to where nothing was written, between two parts of what was there, with which it is merged. */
static int do_insert(void)
{
	char *aside = area(AREAS);
	int error;

	if (mremap(page_of(SECOND, 128), 64 * PAGE, 64 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, aside) == MAP_FAILED ||
	    mremap(aside, 64 * PAGE, 64 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page_of(FIRST, 256)) == MAP_FAILED)
		return errno;
	error = map(SECOND, 128, 64);
	fill(page_of(SECOND, 130));
	return error;
}

static int do_replace(void)
{
	int error;

	munmap(page_of(HOLE, 100), 64 * PAGE);
	error = map(HOLE, 100, 64);
	for (size_t i = 100; i < 164; i += 3)
		fill(page_of(HOLE, i));
	return error;
}

/* Nothing but zeros where all was full. */
static int do_empty(void)
{
	munmap(area(HOLE), SIZE);
	return map(HOLE, 0, PAGES);
}

static int do_protect(void)
{
	int error = mprotect(area(READABLE), SIZE, PROT_READ | PROT_WRITE);

	fill_some(READABLE, 3, 100);
	return error | mprotect(area(READABLE), SIZE, PROT_READ);
}

/* Becomes several areas, one of which grows, is protected and written to; then all is one again. */
static int do_split(void)
{
	char *tail = page_of(GROWN, PAGES / 2);

	mprotect(tail, SIZE / 2, PROT_READ | PROT_WRITE | PROT_EXEC);
	if (mmap(area(GROWN) + SIZE, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) == MAP_FAILED)
		return errno;
	mprotect(tail, SIZE / 2, PROT_READ);
	mprotect(tail, 2 * SIZE - SIZE / 2, PROT_READ | PROT_WRITE | PROT_EXEC);
	fill(tail + 5 * PAGE);
	fill(tail + 6 * PAGE);
	mprotect(tail, 2 * SIZE - SIZE / 2, PROT_READ | PROT_WRITE);
	munmap(area(GROWN) + SIZE, SIZE);
	return 0;
}

/* As a debugger does it: also where the process itself may not write. */
static int do_poke(void)
{
	uint64_t words[WORDS];
	struct iovec local = { words, PAGE }, remote = { page_of(PLAIN, 333), PAGE };
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	fill((char *)words);
	mprotect(area(READABLE), SIZE, PROT_READ);
	/* EIO: this kernel lets nobody but a tracer do it. */
	if (pwrite(fd, words, PAGE, (off_t)(uintptr_t)page_of(READABLE, 400)) != (ssize_t)PAGE && errno != EIO)
		return errno;
	close(fd);
	return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)PAGE ? 0 : errno;
}

/* Both write while both have all of it. */
static int do_fork(void)
{
	int fds[2], status;
	char go = 0;
	pid_t child;

	if (pipe(fds))
		return errno;
	child = fork();
	if (!child) {
		fill_some(FORKED, 0, 2);
		_exit(read(fds[0], &go, 1) != 1);
	}
	fill_some(FORKED, 1, 50);
	status = write(fds[1], &go, 1) != 1;
	close(fds[0]);
	close(fds[1]);
	return waitpid(child, &status, 0) == child && !status ? 0 : ECHILD;
}

static int do_huge(void)
{
	fill(page_of(HUGE, 7));
	fill(page_of(HUGE, 300));
	return 0;
}

static int do_tear(void)
{
	int error = mprotect(page_of(HUGE, 100), PAGE, PROT_READ) | mprotect(page_of(HUGE, 100), PAGE, PROT_READ | PROT_WRITE);

	fill(page_of(HUGE, 101));
	return error | madvise(page_of(HUGE, 200), 3 * PAGE, MADV_DONTNEED);
}

static int do_collapse(void)
{
	fill(page_of(HUGE, 102));
	return madvise(area(HUGE), SIZE, MADV_COLLAPSE) ? errno : 0;
}

static int do_touch(void)
{
	fill_some(PAGED, stamp % 3, 100);
	return 0;
}

static void page_out(void)
{
	madvise(area(PAGED), SIZE, MADV_PAGEOUT);
	madvise(area(PLAIN), SIZE, MADV_PAGEOUT);
}

static int do_grow(void)
{
	sbrk(-(intptr_t)(16 * PAGE));
	sbrk((intptr_t)(48 * PAGE));
	heap_pages += 32;
	fill(heap + 3 * PAGE);
	fill(heap + 60 * PAGE);
	return 0;
}

static long merged(void)
{
	FILE *file = fopen("/sys/kernel/mm/ksm/pages_sharing", "re");
	long number = 0;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;
	fclose(file);
	return number;
}

/* All of them are written, to be alike; then KSM makes them one. */
static int do_merge(void)
{
	const struct timespec pause = { .tv_nsec = 20000000 };

	if (merged() < 0)
		return ENOSYS;
	stamp++;
	for (size_t i = 0; i < PAGES; i++)
		memset(page_of(TWINS, i), (int)(stamp & 127) + 1, PAGE);
	if (madvise(area(TWINS), SIZE, MADV_MERGEABLE))
		return errno;
	for (int i = 0; i < 1500 && merged() < PAGES / 2; i++)
		nanosleep(&pause, NULL);
	return merged() < PAGES / 2 ? ETIMEDOUT : 0;
}

static int do_unmerge(void)
{
	int error = madvise(area(TWINS), SIZE, MADV_UNMERGEABLE) ? errno : 0;

	fill_some(TWINS, 0, 7);
	return error;
}

/* A pipe has hold of a page. */
static int do_hold(void)
{
	struct iovec page = { page_of(PLAIN, 5), PAGE };
	int fds[2];

	fill(page.iov_base);
	return pipe(fds) || vmsplice(fds[1], &page, 1, 0) != (ssize_t)PAGE ? errno : 0;
}

static int soft_dirty(const char *address)
{
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (pread(fd, &entry, sizeof(entry), (off_t)((uintptr_t)address / PAGE * sizeof(entry))) != sizeof(entry))
		exit(3);
	close(fd);
	return entry >> 55 & 1;
}

/* After a checkpoint: who has hold of a page may write to it at any time; the bits of others are clear. */
static int do_look(void)
{
	return soft_dirty(page_of(PLAIN, 5)) && !soft_dirty(page_of(PLAIN, 6)) ? 0 : EIO;
}

static int do_exec(void)
{
	execv("/proc/self/exe", arguments);
	return errno;
}

static const struct {
	const char *word;
	int (*function)(void);
	void (*after)(void);		/* when the sum has been made, and the answer is there */
} all[] = {
	{ "none", do_nothing, NULL }, { "write", do_write, NULL }, { "drop", do_drop, NULL },
	{ "exchange", do_exchange, NULL }, { "insert", do_insert, NULL }, { "replace", do_replace, NULL },
	{ "empty", do_empty, NULL }, { "protect", do_protect, NULL }, { "split", do_split, NULL },
	{ "poke", do_poke, NULL }, { "fork", do_fork, NULL }, { "huge", do_huge, NULL }, { "tear", do_tear, NULL },
	{ "collapse", do_collapse, NULL }, { "touch", do_touch, NULL },
	{ "grow", do_grow, NULL }, { "merge", do_merge, NULL }, { "unmerge", do_unmerge, NULL },
	{ "touch-out", do_touch, page_out }, { "out", do_nothing, page_out }, { "exec", do_exec, NULL },
	{ "hold", do_hold, NULL }, { "look", do_look, NULL },
};

static void answer(unsigned int number, const char *word, int status)
{
	char text[128], new[4096];
	uint64_t sum = sum_of_all();
	int length = snprintf(text, sizeof(text), "%u %s %d %016llx\n", number, word, status, (unsigned long long)sum);
	int fd;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(word, all[i].word) && all[i].after)
			all[i].after();
	snprintf(new, sizeof(new), "%s.new", answers);
	fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, (size_t)length) != length || close(fd) || rename(new, answers))
		exit(3);
}

static int run(const char *word)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(word, all[i].word))
			return all[i].function();
	return EINVAL;
}

int main(int argc, char **argv)
{
	char line[64];
	int fd;

	if (argc < 3)
		return 2;
	arguments = argv;
	commands = argv[1];
	answers = argv[2];
	make();
	fd = open(commands, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return 2;
	answer(0, "ready", 0);
	for (unsigned int number = 1;; number++) {
		ssize_t length = read(fd, line, sizeof(line) - 1);
		int status;

		if (length <= 1)
			return 2;
		line[length - 1] = '\0';
		status = run(line);
		answer(number, line, status);
	}
}
