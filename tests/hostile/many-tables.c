// SPDX-License-Identifier: GPL-2.0-only
/*
 * many-tables FILE N KEEP - N areas with a table of 2^20 chunks each; with KEEP 0 each one goes before the next one comes
 *
 * Prints how many there have been.
 */
#define _GNU_SOURCE
#include "map-self.h"

int main(int argc, char **argv)
{
	struct cryo_map_chunk *chunks = calloc(CRYO_MAP_MAX_CHUNKS, sizeof(*chunks));
	struct cryo_map_run run = { .nr_pages = 1 };
	struct cryo_map map = {
		.size = sizeof(map), .nr_runs = 1, .nr_chunks = CRYO_MAP_MAX_CHUNKS, .runs = (uintptr_t)&run,
		.chunks = (uintptr_t)chunks,
	};
	int handle, n, i;

	if (argc != 4 || !chunks)
		return 2;
	n = atoi(argv[2]);
	for (i = 0; i < (int)CRYO_MAP_MAX_CHUNKS; i++)
		chunks[i].nr_pages = 1;
	handle = handle_with(argv[1]);
	for (i = 0; i < n; i++) {
		map.start = run.start = (uintptr_t)new_area(4096);
		map.end = map.start + 4096;
		if (ioctl(handle, CRYO_RST_MAP, &map))
			DIE("CRYO_RST_MAP");
		printf("%d\n", i + 1);
		fflush(stdout);
		if (!atoi(argv[3]))
			munmap((void *)(uintptr_t)map.start, 4096);
	}
	return 0;
}
