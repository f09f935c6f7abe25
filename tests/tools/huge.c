// SPDX-License-Identifier: GPL-2.0-only
/*
 * huge COUNT [KIND=VALUE...] - memory in huge pages of the default size
 *
 *   private=N      N pages, of which the last one is not touched
 *   forked=N       the same, three at least, which a child has too; it has changed the first page, and ends when its parent has gone
 *   anonymous=N    shared
 *   file=PATH      two pages of a file in a hugetlbfs
 *   removed=PATH   one page of one that is removed
 *   segment=N      System V shared memory of N pages
 *
 * Then it looks every 20 ms whether all is as it was, and counts in the file COUNT; ends with 1 when it is not.
 */
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <unistd.h>

#define AREAS	16

static size_t size;
static struct {
	uint32_t *at;
	size_t bytes;
	uint32_t seed;
} areas[AREAS];
static int count;

static size_t default_size(void)
{
	char line[128];
	size_t kib = 0;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Hugepagesize: %zu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	if (!kib)
		errx(4, "no huge pages");
	return kib << 10;
}

static void fill(uint32_t *at, size_t bytes, uint32_t seed)
{
	for (size_t i = 0; i < bytes / 4; i++)
		at[i] = seed + (uint32_t)i;
}

static int is_bad(const uint32_t *at, size_t bytes, uint32_t seed)
{
	for (size_t i = 0; i < bytes / 4; i++)
		if (at[i] != seed + (uint32_t)i)
			return 1;
	return 0;
}

static void add(void *at, size_t bytes, size_t filled)
{
	if (at == MAP_FAILED)
		err(3, "cannot map %zu bytes", bytes);
	if (count == AREAS)
		errx(2, "too many areas");
	areas[count].at = at;
	areas[count].bytes = filled;
	areas[count].seed = 0x1000000U * (uint32_t)(count + 1);
	fill(at, filled, areas[count].seed);
	count++;
}

static void *map(size_t pages, int flags, int fd)
{
	return mmap(NULL, pages * size, PROT_READ | PROT_WRITE, flags, fd, 0);
}

static int make_file(const char *path, size_t pages)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)(pages * size)))
		err(3, "%s", path);
	return fd;
}

static void look(const char *path)
{
	unsigned long n = 0;

	for (;;) {
		int fd = path ? open(path, O_WRONLY | O_CREAT, 0644) : -1;

		for (int i = 0; i < count; i++)
			if (is_bad(areas[i].at, areas[i].bytes, areas[i].seed))
				_exit(1);
		if (fd >= 0) {
			dprintf(fd, "%9lu %9d\n", ++n, getpid());
			close(fd);
		}
		usleep(20000);
	}
}

static void make_forked(size_t pages)
{
	char *at = map(pages, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
	pid_t parent = getpid();

	add(at, pages * size, (pages - 1) * size);
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	/* All of it but for its first page is its parent's, too. */
	areas[count - 1].seed += 77;
	fill((void *)at, size, areas[count - 1].seed);
	add(at + size, 0, 0);
	areas[count - 1].bytes = (pages - 2) * size;
	areas[count - 1].seed = areas[count - 2].seed - 77 + (uint32_t)(size / 4);
	areas[count - 2].bytes = size;
	look(NULL);
}

static void make(const char *kind, const char *value)
{
	size_t pages = strtoul(value, NULL, 10);
	int id;

	if (!strcmp(kind, "private")) {
		add(map(pages, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1), pages * size, (pages - 1) * size);
	} else if (!strcmp(kind, "forked")) {
		make_forked(pages);
	} else if (!strcmp(kind, "anonymous")) {
		add(map(pages, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1), pages * size, pages * size);
	} else if (!strcmp(kind, "file")) {
		add(map(2, MAP_SHARED, make_file(value, 2)), 2 * size, 2 * size);
	} else if (!strcmp(kind, "removed")) {
		add(map(1, MAP_SHARED, make_file(value, 1)), size, size);
		unlink(value);
	} else if (!strcmp(kind, "segment")) {
		id = shmget(IPC_PRIVATE, pages * size - 100, IPC_CREAT | SHM_HUGETLB | 0600);
		if (id < 0)
			err(3, "shmget");
		add(shmat(id, NULL, 0), pages * size, pages * size);
	} else {
		errx(2, "%s?", kind);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: huge COUNT [KIND=VALUE...]");
	size = default_size();
	for (int i = 2; i < argc; i++) {
		char *equals = strchr(argv[i], '=');

		if (!equals)
			errx(2, "%s?", argv[i]);
		*equals = 0;
		make(argv[i], equals + 1);
	}
	look(argv[1]);
}
