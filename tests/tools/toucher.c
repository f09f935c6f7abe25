/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * toucher COMMANDS ANSWERS - a process that uses pages of its memory on request, and no others
 *
 * Has two areas of which each page begins with a text of its own, "small page N." and "huge page N.": one of small pages,
 * the other of huge ones where there are such. Reads lines from the FIFO COMMANDS: "small|huge FIRST COUNT" uses these
 * pages, every other one of them by writing to it; "out FIRST COUNT" sends small ones to the swap. After each one, ANSWERS is "SMALL HUGE PAGES SIZE BAD": the addresses
 * of both, how many pages each has, of how many bytes, and how many of those just used were not what they ought to be.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

#define PAGES	2048	/* more than three sections of page data, and 4 MiB at least */

static const char *const names[] = { "small", "huge" };
static char *areas[2];
static size_t page;

static void text_of(int area, size_t number, char *text, size_t size)
{
	snprintf(text, size, "%s page %zu.", names[area], number);
}

/* Begins where huge pages may begin, and is not merged with a neighbour. */
static char *map(size_t size)
{
	const size_t align = 32UL << 20;
	char *at = mmap(NULL, size + 2 * align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(3);
	at += align - (size_t)at % align;
	if (mprotect(at, size, PROT_READ | PROT_WRITE))
		exit(3);
	return at;
}

static void make(int area)
{
	char text[32];

	areas[area] = map(PAGES * page);
	madvise(areas[area], PAGES * page, area ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++) {
		text_of(area, i, text, sizeof(text));
		strcpy(areas[area] + i * page, text);
	}
}

static unsigned int use(int area, size_t first, size_t count)
{
	unsigned int bad = 0;
	char text[32];

	for (size_t i = first; i < first + count && i < PAGES; i++) {
		volatile char *byte = areas[area] + i * page + sizeof(text);

		text_of(area, i, text, sizeof(text));
		bad += strcmp(areas[area] + i * page, text) != 0;
		if (i % 2)
			(*byte)++;
	}
	return bad;
}

static void answer(const char *name, unsigned int bad)
{
	char text[256], new[4096];
	int length = snprintf(text, sizeof(text), "%#lx %#lx %d %zu %u\n", (unsigned long)areas[0], (unsigned long)areas[1],
			      PAGES, page, bad);
	int fd;

	snprintf(new, sizeof(new), "%s.new", name);
	fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, (size_t)length) != length || close(fd) || rename(new, name))
		exit(3);
}

int main(int argc, char **argv)
{
	char line[64], name[16];
	size_t first, count;
	ssize_t length;
	int fd;

	page = (size_t)sysconf(_SC_PAGESIZE);
	if (argc < 3)
		return 2;
	make(0);
	make(1);
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return 2;
	answer(argv[2], 0);
	while ((length = read(fd, line, sizeof(line) - 1)) > 0) {
		line[length] = '\0';
		if (sscanf(line, "%15s %zu %zu", name, &first, &count) != 3)
			return 2;
		if (!strcmp(name, "out"))
			answer(argv[2], madvise(areas[0] + first * page, count * page, MADV_PAGEOUT) != 0);
		else
			answer(argv[2], use(!strcmp(name, names[1]), first, count));
	}
	return 2;
}
