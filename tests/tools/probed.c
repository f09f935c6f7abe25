/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probed FILE - a process whose functions are watched by uprobes; "probed offsets": where they are in its file
 *
 * Writes a count to FILE. Calls often() all the time, and patched(), which begins with an instruction that does nothing; rarely() when
 * there is a file FILE.go, whose name it changes to FILE.gone then; and waits in inside(), for as long as there is a file
 * FILE.stay. It has data that look like breakpoints, where the file has others, and code of its own of a file that has no pages.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "nop_arch.h"

static char count_file[4096], go[4096 + 8], gone[4096 + 8], stay[4096 + 8];
static volatile long sink;

enum { BREAKPOINT = 0xcc };	/* of x86; elsewhere any data */
static unsigned char like_breakpoints[300] = { 1, 2, 3 };
static unsigned char *code;

static void make_data(void)
{
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);

	memset(like_breakpoints, BREAKPOINT, sizeof(like_breakpoints));
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (fd < 0 || code == MAP_FAILED)
		exit(6);
	close(fd);
	memset(code, BREAKPOINT, 4096);
	/* Not where its file system forbids it. */
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
}

static void check_data(void)
{
	for (size_t i = 0; i < sizeof(like_breakpoints); i++)
		if (like_breakpoints[i] != BREAKPOINT || code[i] != BREAKPOINT)
			exit(7);
}

__attribute__((noinline, noclone)) static long often(long n)
{
	sink = n;
	return n + 1;
}

__attribute__((noinline, noclone)) static long patched(long n)
{
	__asm__ volatile(".globl patched_nop\npatched_nop:\n\t" NOP);
	return n;
}

extern const char patched_nop[];

__attribute__((noinline, noclone)) static long rarely(long n)
{
	sink = n;
	return n + 1000000;
}

static void nap(long ns)
{
	const struct timespec pause = { .tv_nsec = ns };

	nanosleep(&pause, NULL);
}

static void write_count(long n)
{
	static int fd = -1;
	char text[32];

	if (fd < 0)
		fd = open(count_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	snprintf(text, sizeof(text), "%012ld\n", n);
	if (fd < 0 || pwrite(fd, text, strlen(text), 0) != (ssize_t)strlen(text))
		exit(4);
}

__attribute__((noinline, noclone)) static long inside(long n)
{
	while (!access(stay, F_OK)) {
		write_count(++n);
		nap(5000000);
	}
	return n + 1;
}

static void print_offset(const char *name, const void *at)
{
	Dl_info info;

	/* Code lies in these files as it does in memory. */
	if (!dladdr(at, &info))
		exit(5);
	printf("%s=%#lx\n", name, (unsigned long)((uintptr_t)at - (uintptr_t)info.dli_fbase));
}

int main(int argc, char **argv)
{
	long n = 0;

	if (argc != 2)
		return 255;
	if (!strcmp(argv[1], "offsets")) {
		print_offset("often", often);
		print_offset("patched", patched_nop);
		print_offset("rarely", rarely);
		print_offset("inside", inside);
		print_offset("malloc", malloc);
		return 0;
	}
	snprintf(count_file, sizeof(count_file), "%s", argv[1]);
	snprintf(go, sizeof(go), "%s.go", argv[1]);
	snprintf(gone, sizeof(gone), "%s.gone", argv[1]);
	snprintf(stay, sizeof(stay), "%s.stay", argv[1]);
	make_data();
	for (;;) {
		check_data();
		for (int i = 0; i < 1000; i++)
			n = patched(often(n));
		if (!rename(go, gone))
			n = rarely(n);
		n = inside(n);
		write_count(n);
		nap(1000000);
	}
}
