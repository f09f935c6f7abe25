/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * changer FILE - a process whose memory changes from one checkpoint to the next, and that knows what is in it
 *
 * Eight threads write to pages in random order, each of which says what was written last, and look before each
 * write whether it is still there. A count of what has been written is in FILE, every few milliseconds.
 * SIGUSR1: the next trick with a part of the memory that only the first thread has: fork, mremap, madvise, a new
 * mapping over the old one, exec; then "done N" is in FILE.trick.
 * SIGUSR2: all of it is looked at. Ends with status 0 when everything is as it was written, else with 3.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WRITERS	8
#define SLOTS	128		/* pages of each */
#define OWN	256		/* pages for tricks */
#define PAGE	((size_t)4096)	/* of larger ones several have one; the parts for tricks are multiples of 64 KiB */
#define WORDS	(PAGE / sizeof(uint64_t))

struct memory {
	uint64_t *pages;
	uint64_t *written;	/* number last written to each, 0: the page is zero */
	size_t count;
};

struct writer {
	pthread_t thread;
	struct memory memory;
	uint64_t random;
};

static struct writer writers[WRITERS];
static struct memory own;
static atomic_ullong number;
static atomic_bool end;
static volatile sig_atomic_t trick_now, end_now;
static const char *file;
static int count_fd;
static char **arguments;

static uint64_t word_of(uint64_t n, size_t page, size_t i)
{
	return n ? n * 0x9e3779b97f4a7c15 + page * 8191 + i : 0;
}

static int is_page(const struct memory *m, size_t page)
{
	for (size_t i = 0; i < WORDS; i++)
		if (m->pages[page * WORDS + i] != word_of(m->written[page], page, i))
			return 0;
	return 1;
}

static void write_page(struct memory *m, size_t page)
{
	uint64_t n = ++number;

	for (size_t i = 0; i < WORDS; i++)
		m->pages[page * WORDS + i] = word_of(n, page, i);
	m->written[page] = n;
}

static void check(const struct memory *m)
{
	for (size_t page = 0; page < m->count; page++)
		if (!is_page(m, page)) {
			fprintf(stderr, "changer %d: page %zu of %zu is not what it was\n", getpid(), page, m->count);
			_exit(3);
		}
}

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(4);
	return p;
}

static struct memory make(size_t count)
{
	struct memory m = {
		.pages = map(count * PAGE), .written = map(count * sizeof(uint64_t)), .count = count,
	};

	for (size_t page = 0; page < count; page++)
		write_page(&m, page);
	return m;
}

static void nap(void)
{
	const struct timespec pause = { .tv_nsec = 3000000 };

	nanosleep(&pause, NULL);
}

static void *run(void *arg)
{
	struct writer *w = arg;

	while (!end) {
		w->random ^= w->random << 13;
		w->random ^= w->random >> 7;
		w->random ^= w->random << 17;
		size_t page = w->random % SLOTS;

		if (!is_page(&w->memory, page))
			_exit(3);
		write_page(&w->memory, page);
		nap();
	}
	return NULL;
}

/* Half of the pages are its own from now on; it looks at all of them until its parent is gone. */
static void be_child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t page = 0; page < own.count; page += 2)
		write_page(&own, page);
	for (;;) {
		check(&own);
		write_page(&own, 1);
		nap();
	}
}

static void move_memory(void)
{
	void *to = map(2 * own.count * PAGE);

	own.pages = mremap(own.pages, own.count * PAGE, 2 * own.count * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (own.pages == MAP_FAILED)
		_exit(4);
}

static void drop_memory(void)
{
	madvise(own.pages + own.count / 2 * WORDS, own.count / 4 * PAGE, MADV_DONTNEED);
	for (size_t page = own.count / 2; page < own.count / 2 + own.count / 4; page++)
		own.written[page] = 0;
	write_page(&own, own.count / 2 + 3);
}

/* Other pages at the same addresses; some have what pages elsewhere had. */
static void map_over(void)
{
	size_t bytes = own.count / 4 * PAGE;

	if (mmap(own.pages, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
	    own.pages)
		_exit(4);
	for (size_t page = 0; page < own.count / 4; page++)
		own.written[page] = 0;
	write_page(&own, 7);
}

static void say(const char *suffix, const char *text)
{
	char path[4000], temporary[4096];
	int fd;

	snprintf(path, sizeof(path), "%s%s", file, suffix);
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) < 0 || close(fd) || rename(temporary, path))
		_exit(4);
}

static void do_trick(void)
{
	const char *last = getenv("CHANGER_TRICKS");
	int trick = last ? atoi(last) + 1 : 1;
	char text[32];

	snprintf(text, sizeof(text), "%d", trick);
	setenv("CHANGER_TRICKS", text, 1);
	if (trick % 5 == 1 && !fork())
		be_child();
	if (trick % 5 == 2)
		move_memory();
	if (trick % 5 == 3)
		drop_memory();
	if (trick % 5 == 4)
		map_over();
	snprintf(text, sizeof(text), "done %d", trick);
	say(".trick", text);
	if (trick % 5 == 0)
		execv("/proc/self/exe", arguments);
}

static void on_signal(int signal)
{
	if (signal == SIGUSR1)
		trick_now = 1;
	else
		end_now = 1;
}

static void look_at_everything(void)
{
	end = 1;
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
	for (int i = 0; i < WRITERS; i++)
		check(&writers[i].memory);
	check(&own);
}

static void check_children(void)
{
	int status;

	if (waitpid(-1, &status, WNOHANG) > 0)
		_exit(3);
}

static void start(void)
{
	own = make(OWN);
	for (int i = 0; i < WRITERS; i++) {
		writers[i].memory = make(SLOTS);
		writers[i].random = 88172645463325252ULL + (uint64_t)i;
		if (pthread_create(&writers[i].thread, NULL, run, &writers[i]))
			_exit(4);
	}
}

int main(int argc, char **argv)
{
	char text[32];

	if (argc != 2)
		return 2;
	file = argv[1];
	arguments = argv;
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	count_fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	start();
	while (!end_now) {
		snprintf(text, sizeof(text), "%020llu", (unsigned long long)number);
		if (pwrite(count_fd, text, strlen(text), 0) < 0)
			return 4;
		if (trick_now) {
			trick_now = 0;
			do_trick();
		}
		check_children();
		nap();
	}
	look_at_everything();
	return 0;
}
