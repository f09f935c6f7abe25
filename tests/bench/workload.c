// SPDX-License-Identifier: GPL-2.0-only
/*
 * workload.c - what the benchmark takes checkpoints of: workload KIND MIB THREADS PROCESSES BOARD
 *
 * KIND says what the memory holds: random, halves (half zeros, half text), sparse (over 1 TiB), or one (the
 * same, but 1 % is written again and again). Each of PROCESSES processes (one, or a tree of three levels: 1 + 9 +
 * the rest) has its part of MIB and of THREADS threads. All tick, about every millisecond where there is one process, and
 * every 10 ms in a tree and in other threads than the first: they are not to keep the processors busy with that.
 *
 * BOARD is a file, mapped by all, that measure.py reads: one struct slot for each process. Being in a file, it is not
 * set back by a restart. A slot tells when its process ticked last, how long it did not, when it first ticked
 * after `first` was cleared, and when it next had read all of its memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE	((size_t)4096)
#define SLOT_WORDS 16

/* measure.py has the same. Times are of CLOCK_REALTIME, in ns: it goes on, whoever restarts. */
struct slot {
	uint64_t pid;
	uint64_t ready;
	uint64_t last;
	uint64_t gap;		/* longest time between two ticks of a thread, since it was set to 0 */
	uint64_t first;		/* first tick since it was set to 0 */
	uint64_t through;	/* all memory was read once after `first`; reset with it */
	uint64_t bad;		/* pages that were not as they should be */
	uint64_t fork_ns;	/* time of a fork(); made when it is set to 1 */
	uint64_t pages;
	uint64_t rest[SLOT_WORDS - 9];
};

static volatile struct slot *slot;
static long tick_ms;
static const char *kind;
static unsigned char *memory;
static size_t pages, stride;		/* bytes from one page to the next */

static void die(const char *what)
{
	fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t mixed(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9;
	x ^= x >> 27;
	x *= 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static uint64_t *page_at(size_t i)
{
	return (uint64_t *)(void *)(memory + i * stride);
}

static void fill_random(uint64_t *page, size_t i)
{
	uint64_t x = mixed(i + 1);

	for (size_t word = 0; word < PAGE / 8; word++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		page[word] = x;
	}
	page[0] = mixed(i);
}

static void fill_text(uint64_t *page, size_t i)
{
	static const char *const words[] = { "snow ", "lies ", "deep ", "on ", "quiet ", "northern ", "hills ", "again " };
	char *at = (char *)page, *end = at + PAGE;
	uint64_t x = mixed(i);

	while (at < end) {
		const char *word = words[x % 8];
		size_t len = strlen(word);

		x = mixed(x + 1);
		if (len > (size_t)(end - at))
			len = (size_t)(end - at);
		memcpy(at, word, len);
		at += len;
	}
	page[0] = mixed(i);
}

static int is_zero_page(size_t i)
{
	return !strcmp(kind, "halves") && i < pages / 2;
}

static void fill(size_t i)
{
	if (is_zero_page(i))
		memset(page_at(i), 0, PAGE);
	else if (!strcmp(kind, "halves"))
		fill_text(page_at(i), i);
	else
		fill_random(page_at(i), i);
}

static void make_memory(size_t mib)
{
	size_t span;

	pages = mib * 256;
	stride = PAGE;
	if (!strcmp(kind, "sparse") && pages)
		stride = (((size_t)1 << 40) / pages) & ~(PAGE - 1);
	span = pages * stride;
	if (!span)
		return;
	memory = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap");
	if (getenv("WORKLOAD_HUGE"))
		madvise(memory, span, MADV_HUGEPAGE);
	else
		madvise(memory, span, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++)
		fill(i);
}

/* Reads a word of each page. */
static void look_through(void)
{
	for (size_t i = 0; i < pages; i++)
		if (*(volatile uint64_t *)page_at(i) != (is_zero_page(i) ? 0 : mixed(i)))
			slot->bad++;
}

/* 1 % of the pages, another 1 % each time: their second word, so that look_through() finds what it knows. */
static void write_some(void)
{
	static size_t at;

	for (size_t i = 0; i < pages / 100; i++)
		page_at((at + i) % pages)[1]++;
	at = (at + pages / 100) % pages;
}

static void tick(uint64_t *last)
{
	uint64_t now = now_ns();

	if (*last && now - *last > slot->gap)
		slot->gap = now - *last;
	*last = now;
	slot->last = now;
	/* Asked again: `now` may be from before a checkpoint. */
	if (!slot->first)
		slot->first = now_ns();
}

static void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static void *other_thread(void *arg)
{
	uint64_t last = 0;

	for (;;) {
		tick(&last);
		sleep_ms(10);
	}
	return arg;
}

static void time_fork(void)
{
	uint64_t begin = now_ns(), took;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	took = now_ns() - begin;
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		die("fork");
	/* What fork() has protected is made writable again, as before; its contents, of which some are zeros, stay. */
	for (size_t i = 0; i < pages; i++) {
		volatile uint64_t *word = page_at(i) + 1;

		*word = *word;
	}
	slot->fork_ns = took;
}

static void run(void)
{
	uint64_t last = 0, first = 0, rounds = 0;

	slot->pages = pages;
	slot->ready = 1;
	for (;;) {
		tick(&last);
		if (slot->fork_ns == 1) {
			time_fork();
			last = 0;
		}
		if (slot->first != first) {
			first = slot->first;
			look_through();
			slot->through = now_ns();
			last = 0;
		}
		if (!strcmp(kind, "one") && rounds++ % 1000 == 0)
			write_some();
		sleep_ms(tick_ms);
	}
}

static void become(unsigned long who, size_t mib, unsigned long threads, volatile struct slot *board)
{
	pthread_attr_t attr;
	pthread_t thread;

	slot = board + who;
	slot->pid = (uint64_t)getpid();
	make_memory(mib);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 * 1024);
	for (unsigned long i = 1; i < threads; i++)
		if (pthread_create(&thread, &attr, other_thread, NULL))
			die("pthread_create");
	run();
}

/*
 * 1 + 9 + the rest: process 0 has children 1 to 9, of which each has some of the others. Returns in each
 * process, with its number.
 */
static unsigned long grow(unsigned long processes)
{
	unsigned long who = 0, child = 1, step = 1, end = 10;

	while (child < end && child < processes) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid) {
			child += step;
			continue;
		}
		who = child;
		step = 9;
		child = who < 10 ? who + step : processes;
		end = processes;
	}
	return who;
}

int main(int argc, char **argv)
{
	unsigned long mib, threads, processes;
	void *board;
	int fd;

	if (argc != 6) {
		fprintf(stderr, "usage: workload KIND MIB THREADS PROCESSES BOARD\n");
		return 2;
	}
	kind = argv[1];
	mib = strtoul(argv[2], NULL, 10);
	threads = strtoul(argv[3], NULL, 10);
	processes = strtoul(argv[4], NULL, 10);
	fd = open(argv[5], O_RDWR | O_CLOEXEC);
	if (fd < 0 || !processes)
		die(argv[5]);
	board = mmap(NULL, processes * sizeof(struct slot), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (board == MAP_FAILED)
		die("mmap");
	close(fd);
	tick_ms = processes > 1 ? 10 : 1;
	become(grow(processes), mib / processes, threads, board);
}
