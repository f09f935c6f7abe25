/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mapper FD FILE - has a file mapped that somebody else has opened, and no descriptor of it, as users of nscd's cache have
 *
 * Writes to FILE, again and again, how often it has looked, and the first line of what is mapped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	int fd = argc == 3 ? atoi(argv[1]) : -1;
	const char *text = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (text == MAP_FAILED || close(fd))
		return 2;
	for (unsigned long looks = 0;; looks++) {
		char path[4096];
		FILE *file;

		snprintf(path, sizeof(path), "%s.new", argv[2]);
		file = fopen(path, "w");
		if (!file || fprintf(file, "%lu %.*s\n", looks, 60, text) < 0 || fclose(file) || rename(path, argv[2]))
			return 3;
		nanosleep(&pause, NULL);
	}
}
