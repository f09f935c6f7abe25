// SPDX-License-Identifier: GPL-2.0-only
/*
 * far-apart N - N pages, each of which takes a page table of its own
 *
 * Makes the file "ready", and goes on until it is killed.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPAN	(2UL << 20)

int main(int argc, char **argv)
{
	size_t n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0, i;
	char *area = mmap(NULL, n * SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (area == MAP_FAILED || madvise(area, n * SPAN, MADV_NOHUGEPAGE))
		return 1;
	for (i = 0; i < n; i++)
		*(size_t *)(area + i * SPAN) = i + 1;
	close(open("ready", O_WRONLY | O_CREAT, 0600));
	for (;;)
		pause();
}
