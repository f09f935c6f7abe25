/* SPDX-License-Identifier: GPL-2.0-only */
/* map-self.h - for programs that map an area of their own memory from a file, by the calls of a restart handle */
#ifndef MAP_SELF_H
#define MAP_SELF_H

#include <cryo/ioctl.h>
#include <cryo/map.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define DIE(what) do { fprintf(stderr, "%s: %s\n", what, strerror(errno)); exit(1); } while (0)

/* A restart handle whose file 0 is @path. */
static inline int handle_with(const char *path)
{
	struct cryo_restart restart = { .size = sizeof(restart), .threads = 1, .processes = 1 };
	struct cryo_map_file file = { .size = sizeof(file) };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	int handle = ioctl(dev, CRYO_IOC_RESTART, &restart);

	if (handle < 0)
		DIE("CRYO_IOC_RESTART");
	close(dev);
	file.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (ioctl(handle, CRYO_RST_MAP_FILE, &file))
		DIE("CRYO_RST_MAP_FILE");
	close(file.fd);
	return handle;
}

static inline char *new_area(size_t size)
{
	char *area = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (area == MAP_FAILED)
		DIE("mmap");
	return area;
}

#endif
