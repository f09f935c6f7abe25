// SPDX-License-Identifier: GPL-2.0-only
/* A directory being read: the rest of the entries comes, each once. */
#define _GNU_SOURCE
#include "crtest.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES 3000			/* more than one getdents() call gives */
#define FIRST 500

static DIR *dir;
static int by_fd;
static unsigned char seen[ENTRIES];
static int strange;

static void take(int count)
{
	struct dirent *e;

	while (count-- && (e = readdir(dir))) {
		int i = atoi(e->d_name + 1);

		if (e->d_name[0] == 'e' && i >= 0 && i < ENTRIES)
			seen[i]++;
		else if (e->d_name[0] != '.')
			strange++;
	}
}

static void setup(void)
{
	char path[600], name[64];

	strcpy(name, "many");
	CRT_SYS(mkdir(crt_path(name), 0755));
	for (int i = 0; i < ENTRIES; i++) {
		snprintf(path, sizeof(path), "%s/e%d", crt_path(name), i);
		CRT_SYS(close(open(path, O_CREAT | O_WRONLY, 0600)));
	}
	dir = opendir(crt_path(name));
	if (!dir)
		crt_die("opendir: %m");
	take(FIRST);
	by_fd = (int)CRT_SYS(open(crt_path(name), O_RDONLY | O_DIRECTORY));
}

static void verify(void)
{
	int missing = 0, twice = 0;

	take(-1);
	for (int i = 0; i < ENTRIES; i++) {
		missing += !seen[i];
		twice += seen[i] > 1;
	}
	crt_same(missing, 0, "no entry is missing");
	crt_same(twice, 0, "none comes twice");
	crt_same(strange, 0, "there is no other");
	crt_same(faccessat(by_fd, "e17", F_OK, 0), 0, "openat() and the like work from its descriptor");
	rewinddir(dir);
	memset(seen, 0, sizeof(seen));
	take(-1);
	crt_ok(seen[0] == 1 && seen[ENTRIES - 1] == 1, "it can be rewound");
}

const struct crt_test crt_test = {
	.text = "an open directory keeps its position",
	.setup = setup,
	.verify = verify,
};
