// SPDX-License-Identifier: GPL-2.0-only
/*
 * map-own HOW FILE N - maps N pages of its own memory from a file of zeros, each with a chunk of 2 MiB of its own
 *
 * touch: chunk by chunk of the file; each page is used, slowly enough for the kernel to look at the next chunks meanwhile.
 * keep: all chunks are the file's first 2 MiB; says "ready" and waits.
 * fork: an area that is cut into N; how much longer a fork() takes than with a sixteenth of them. Ends with 0 if it is no more than
 *       forty times.
 */
#define _GNU_SOURCE
#include "map-self.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>

#define PAGE		4096UL
#define CHUNK_PAGES	512
#define ZEROS		0xf88e23dbU	/* the lower half of the XXH64 of 2 MiB of them */

/* The first @n of @pages. */
static char *map_pages(const char *path, unsigned long n, unsigned long stride, unsigned long pages)
{
	struct cryo_map_chunk *chunks = calloc(n, sizeof(*chunks));
	struct cryo_map_run *runs = calloc(n, sizeof(*runs));
	struct cryo_map map = {
		.size = sizeof(map), .nr_runs = n, .nr_chunks = n, .runs = (uintptr_t)runs, .chunks = (uintptr_t)chunks,
	};
	char *area = new_area(pages * PAGE);
	int handle = handle_with(path);

	for (unsigned long i = 0; i < n; i++) {
		chunks[i] = (struct cryo_map_chunk){ .offset = i * stride, .nr_pages = CHUNK_PAGES, .checksum = ZEROS };
		runs[i] = (struct cryo_map_run){
			.start = (uintptr_t)area + i * PAGE, .offset = i * stride, .nr_pages = 1, .chunk = i,
		};
	}
	map.start = (uintptr_t)area;
	map.end = map.start + pages * PAGE;
	if (ioctl(handle, CRYO_RST_MAP, &map))
		DIE("CRYO_RST_MAP");
	close(handle);
	if (mprotect(area, pages * PAGE, PROT_READ | PROT_WRITE))
		DIE("mprotect");
	free(chunks);
	free(runs);
	return area;
}

static double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double time_of_fork(const char *path, unsigned long n)
{
	char *area = map_pages(path, 1, 0, n);
	double begin;
	pid_t pid;

	for (unsigned long i = 0; i < n; i += 2)
		if (mprotect(area + i * PAGE, PAGE, PROT_READ))
			DIE("mprotect");
	begin = cpu_time();
	pid = fork();
	if (pid < 0)
		DIE("fork");
	if (!pid)
		_exit(0);
	begin = cpu_time() - begin;
	waitpid(pid, NULL, 0);
	munmap(area, n * PAGE);
	return begin;
}

static int compare_forks(const char *path, unsigned long n)
{
	const double few = time_of_fork(path, n / 16), many = time_of_fork(path, n);

	printf("%lu areas: %.3f s, %lu: %.3f s\n", n / 16, few, n, many);
	return many < 40 * few ? 0 : 1;
}

int main(int argc, char **argv)
{
	bool touches;
	unsigned long n;
	volatile char *area;

	if (argc != 4)
		return 2;
	touches = !strcmp(argv[1], "touch");
	n = strtoul(argv[3], NULL, 10);
	if (!strcmp(argv[1], "fork"))
		return compare_forks(argv[2], n);
	area = map_pages(argv[2], n, touches ? CHUNK_PAGES * PAGE : 0, n);
	for (unsigned long i = 0; touches && i < n; i++) {
		if (area[i * PAGE])
			return 1;
		usleep(50000);
	}
	printf("ready\n");
	fflush(stdout);
	if (!touches)
		for (;;)
			pause();
	return 0;
}
