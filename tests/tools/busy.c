/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * busy FILE [MIB|vfork|shm] [change] - a process to be checkpointed
 *
 * Holds MIB MiB of memory that does not compress and does not change, and a count that it writes to FILE
 * every few milliseconds, and ends with status 3 if the memory is not what it was.
 * With "change" it writes to all of its memory, one page after the other, again and again, and ends with status 3
 * if one is not as it left it; after a SIGUSR1 a child of it does so for a while with its own copy, and a
 * SIGUSR2 makes it another program.
 * With "shm" the count is also in memory that it shares with all who map FILE.shm.
 * With "vfork" it sleeps in vfork() when it has counted to one, and goes on when there is a file go.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t next_word(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void fill(uint64_t *words, size_t count)
{
	uint64_t state = 88172645463325252ULL;

	for (size_t i = 0; i < count; i++)
		words[i] = next_word(&state);
}

/* One word of each page; all of them would keep an emulated processor busy for long. */
static int is_filled(const uint64_t *words, size_t count)
{
	uint64_t state = 88172645463325252ULL;

	for (size_t i = 0; i < count; i++) {
		uint64_t word = next_word(&state);

		if (i % 512 == 0 && words[i] != word)
			return 0;
	}
	return 1;
}

/* The child shares all memory: it calls nothing of the C library that has a state. */
static int sleep_in_vfork(void)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	pid_t pid = vfork();
	int status;

	if (!pid) {
		while (access("go", F_OK))
			nanosleep(&pause, NULL);
		_exit(4);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 4;
}

static volatile uint64_t *share(const char *file)
{
	char path[4096];
	void *p;
	int fd;

	snprintf(path, sizeof(path), "%s.shm", file);
	fd = open(path, O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, 4096))
		return NULL;
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

#define PAGE_WORDS 512

static volatile sig_atomic_t fork_now, exec_now;

static void on_signal(int number)
{
	if (number == SIGUSR1)
		fork_now = 1;
	else
		exec_now = 1;
}

/* One step in the rounds through the memory: pages before @at have been written in this one. */
static struct {
	uint64_t *words;
	size_t pages, at;
	uint64_t round;
} sweep;

static uint64_t word_of(uint64_t round, size_t page, size_t i)
{
	return round * 0x9e3779b97f4a7c15 + page * PAGE_WORDS + i;
}

static void write_page(size_t page, uint64_t round)
{
	for (size_t i = 0; i < PAGE_WORDS; i++)
		sweep.words[page * PAGE_WORDS + i] = word_of(round, page, i);
}

static int is_page(size_t page, uint64_t round)
{
	for (size_t i = 0; i < PAGE_WORDS; i++)
		if (sweep.words[page * PAGE_WORDS + i] != word_of(round, page, i))
			return 0;
	return 1;
}

static int change_pages(size_t count)
{
	while (count--) {
		if (!is_page(sweep.at, sweep.round))
			return 0;
		write_page(sweep.at, sweep.round + 1);
		if (++sweep.at == sweep.pages) {
			sweep.at = 0;
			sweep.round++;
		}
	}
	return 1;
}

static void start_changing(uint64_t *words, size_t bytes)
{
	sweep.words = words;
	sweep.pages = bytes / sizeof(*words) / PAGE_WORDS;
	for (size_t page = 0; page < sweep.pages; page++)
		write_page(page, 0);
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	signal(SIGCHLD, SIG_IGN);
}

static int change(void)
{
	if (exec_now)
		execlp("sleep", "sleep", "60", NULL);
	if (fork_now) {
		fork_now = 0;
		if (!fork())
			_exit(!change_pages(2 * sweep.pages));
	}
	return change_pages(64);
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	size_t bytes = (argc > 2 ? strtoul(argv[2], NULL, 10) : 0) << 20;
	uint64_t *words = NULL;
	volatile uint64_t *shared = NULL;
	int fd;

	if (argc < 2)
		return 2;
	if (bytes) {
		words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (words == MAP_FAILED)
			return 2;
		if (argc > 3)
			start_changing(words, bytes);
		else
			fill(words, bytes / sizeof(*words));
	}
	fd = open(argv[1], O_WRONLY | O_CREAT, 0644);
	if (fd < 0)
		return 2;
	if (argc > 2 && !strcmp(argv[2], "shm")) {
		shared = share(argv[1]);
		if (!shared)
			return 2;
		*shared = 0;
	}
	for (unsigned long count = 1;; count++) {
		char text[32];
		int length = snprintf(text, sizeof(text), "%020lu\n", count);

		if (shared && ++*shared != count)
			return 5;
		if (pwrite(fd, text, length, 0) != length)
			return 2;
		if (sweep.words && !change())
			return 3;
		if (count % 1000 == 0 && !sweep.words && bytes && !is_filled(words, bytes / sizeof(*words)))
			return 3;
		if (count == 1 && argc > 2 && !strcmp(argv[2], "vfork") && !sleep_in_vfork())
			return 4;
		nanosleep(&pause, NULL);
	}
}
