// SPDX-License-Identifier: GPL-2.0-only
/*
 * waits [MIB] - a small process with MIB (0) of memory that no compression makes smaller
 *
 * Makes a file "ready" in its directory, and counts: when there is a file "go", it sees whether its memory is what it was,
 * and ends with 0 if so.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static uint64_t next(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

int main(int argc, char **argv)
{
	size_t count = (argc > 1 ? strtoul(argv[1], NULL, 10) : 0) * (1 << 20) / 8;
	struct timespec nap = { 0, 20000000 };
	uint64_t *words = NULL, x = 88172645463325252u;
	size_t i;

	if (count) {
		words = mmap(NULL, count * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (words == MAP_FAILED)
			return 2;
	}
	for (i = 0; i < count; i++)
		words[i] = x = next(x);
	close(open("ready", O_WRONLY | O_CREAT, 0600));
	while (access("go", F_OK))
		nanosleep(&nap, NULL);
	for (i = 0, x = 88172645463325252u; i < count; i++)
		if (words[i] != (x = next(x)))
			return 1;
	return 0;
}
