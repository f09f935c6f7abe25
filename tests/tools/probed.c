/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probed FILE - a process whose functions are watched by uprobes; "probed offsets": where they are in its file
 *
 * Writes a count to FILE. Calls often() all the time, and patched(), which begins with an instruction that does nothing; rarely() when
 * there is a file FILE.go, whose name it changes to FILE.gone then; and waits in inside(), for as long as there is a file
 * FILE.stay.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nop_arch.h"

static char count_file[4096], go[4096 + 8], gone[4096 + 8], stay[4096 + 8];
static volatile long sink;

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
	for (;;) {
		for (int i = 0; i < 1000; i++)
			n = patched(often(n));
		if (!rename(go, gone))
			n = rarely(n);
		n = inside(n);
		write_count(n);
		nap(1000000);
	}
}
