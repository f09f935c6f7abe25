// SPDX-License-Identifier: GPL-2.0-only
/*
 * pause [MIB [RUNS]] - how long a process stands still for a checkpoint, as it sees it itself
 *
 * For memory of MIB (1024) in small and in huge pages: the time of a fork() of it, and the longest gap
 * that a loop of the process sees during cr_checkpoint, with a snapshot and, once, without. Prints the minimum, median and
 * maximum of RUNS (5), and the ratio of the medians to that of fork(). Contexts go to $CRYO_BENCH_DIR
 * (/dev/shm).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HUGE	((size_t)2 << 20)
#define MAX_RUNS 100

static const char *directory(void)
{
	const char *dir = getenv("CRYO_BENCH_DIR");

	return dir ? dir : "/dev/shm";
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The process that is measured asks for a checkpoint, of itself, and looks at its clock until it is over. */
static volatile struct {
	int ask;		/* 's' with a snapshot, 'n' without, 'e' the end */
	int failed;
} *shared;

static void share(void)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/pause.control", directory());
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 4096))
		die(path);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	close(fd);
}

/* 0, or what its exit status was. */
static int checkpoint(pid_t pid, bool snapshot)
{
	char context[4096], target[16];
	int status;
	pid_t tool;

	snprintf(context, sizeof(context), "%s/pause.context", directory());
	snprintf(target, sizeof(target), "%d", (int)pid);
	tool = fork();
	if (!tool) {
		execlp("cr_checkpoint", "cr_checkpoint", "--pid", "--nosync", snapshot ? "--snapshot" : "--no-snapshot",
		       "-f", context, target, NULL);
		perror("cr_checkpoint");
		_exit(127);
	}
	if (tool < 0 || waitpid(tool, &status, 0) != tool)
		die("cr_checkpoint");
	return status;
}

/* What it asks for, until its end. */
static int serve(pid_t pid)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		if (shared->ask) {
			shared->failed = checkpoint(pid, shared->ask == 's');
			shared->ask = 0;
		}
		nanosleep(&pause, NULL);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static double fork_ms(void)
{
	double begin = now_ms(), took;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	took = now_ms() - begin;
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		die("fork");
	return took;
}

/* The longest gap until the checkpoint is over. */
static double pause_ms(char option)
{
	double last, now, longest = 0;

	shared->ask = option;
	for (last = now_ms(); shared->ask; last = now) {
		now = now_ms();
		if (now - last > longest)
			longest = now - last;
	}
	if (shared->failed) {
		fprintf(stderr, "pause: the checkpoint failed\n");
		exit(1);
	}
	return longest;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double show(const char *what, double *ms, int runs, double base)
{
	qsort(ms, (size_t)runs, sizeof(*ms), by_size);
	printf("  %-28s %8.2f %8.2f %8.2f ms", what, ms[0], ms[runs / 2], ms[runs - 1]);
	if (base > 0)
		printf("   %6.2f times fork()", ms[runs / 2] / base);
	printf("\n");
	fflush(stdout);
	return ms[runs / 2];
}

static void measure(const char *name, size_t bytes, int advice, int runs)
{
	unsigned char *map = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *memory = (unsigned char *)(((uintptr_t)map + HUGE - 1) & ~(HUGE - 1));
	double ms[MAX_RUNS], base;

	if (map == MAP_FAILED)
		die("mmap");
	madvise(memory, bytes, advice);
	for (size_t i = 0; i < bytes; i += 64)
		*(uint64_t *)(void *)(memory + i) = i + 1;
	printf("%s, %zu MiB:%*s minimum   median  maximum\n", name, bytes >> 20, 14 - (int)strlen(name), "");
	for (int i = 0; i < runs; i++)
		ms[i] = fork_ms();
	base = show("fork()", ms, runs, 0);
	for (int i = 0; i < runs; i++) {
		for (size_t at = 0; at < bytes; at += 4096)
			memory[at]++;		/* in place again, as before any fork() or checkpoint */
		ms[i] = pause_ms('s');
	}
	show("pause with a snapshot", ms, runs, base);
	ms[0] = pause_ms('n');
	show("pause without (once)", ms, 1, base);
	munmap(map, bytes + HUGE);
}

int main(int argc, char **argv)
{
	size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1024) << 20;
	int runs = argc > 2 ? atoi(argv[2]) : 5;
	pid_t pid;

	if (!bytes || runs < 1 || runs > MAX_RUNS) {
		fprintf(stderr, "usage: pause [MIB [RUNS]]\n");
		return 2;
	}
	share();
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid)
		return serve(pid);
	measure("nothing", HUGE, MADV_NOHUGEPAGE, runs);
	measure("small pages", bytes, MADV_NOHUGEPAGE, runs);
	measure("huge pages", bytes, MADV_HUGEPAGE, runs);
	return 0;
}
