// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's code (vdso) and its data unmapped by the program: all of it, or the code alone, with a file of its own mapped in its
 * place. What has come to lie there is the program's, and is not taken for the kernel's.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define TEXT "in the file"
#define OWN "written in memory"

struct area {
	char *start;
	size_t size;
};

/* Children, as the C library of this process calls the vdso: one without any of it, one without the code. */
static struct child {
	int to[2], from[2];
} bare, replaced;

static struct area find(const char *name, bool unmap)
{
	struct area found = { 0 };
	unsigned long start, end;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, name) || sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		found = (struct area){ (char *)start, end - start };
		if (unmap)
			CRT_SYS(munmap(found.start, found.size));
	}
	if (maps)
		fclose(maps);
	return found;
}

static char *map_over(struct area place)
{
	int fd = (int)CRT_SYS(open(crt_path("file"), O_RDWR | O_CREAT, 0600));
	char *at;

	CRT_SYS(write(fd, TEXT, sizeof(TEXT)));
	CRT_SYS(ftruncate(fd, 4096));
	at = CRT_MAP(mmap(place.start, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0));
	CRT_SYS(close(fd));
	strcpy(at + 1024, OWN);
	return at;
}

static void answer(const struct child *child, bool (*good)(void))
{
	char byte = 'r';

	CRT_SYS(write(child->from[1], &byte, 1));
	while (read(child->to[0], &byte, 1) == 1) {
		byte = good() ? 'y' : 'n';
		CRT_SYS(write(child->from[1], &byte, 1));
	}
	_exit(0);
}

static bool has_nothing(void)
{
	return !find("[vdso]", false).size && !find("[vvar", false).size;
}

static struct area data;
static char *mine;

static bool has_file_and_data(void)
{
	return !strcmp(mine, TEXT) && !strcmp(mine + 1024, OWN) && !find("[vdso]", false).size &&
	       find("[vvar]", false).start == data.start;
}

static void start(struct child *child)
{
	char byte;

	CRT_SYS(pipe(child->to));
	CRT_SYS(pipe(child->from));
	if (!CRT_SYS(fork())) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (child == &bare) {
			find("[vdso]", true);
			find("[vvar", true);
			answer(child, has_nothing);
		}
		data = find("[vvar]", false);
		mine = map_over(find("[vdso]", true));
		answer(child, has_file_and_data);
	}
	CRT_SYS(read(child->from[0], &byte, 1));
}

static void setup(void)
{
	if (!find("[vdso]", false).size)
		crt_skip("no vdso");
	start(&bare);
	start(&replaced);
}

static char ask(const struct child *child)
{
	char byte = 'x';

	CRT_SYS(write(child->to[1], &byte, 1));
	CRT_SYS(read(child->from[0], &byte, 1));
	return byte;
}

static void verify(void)
{
	crt_same(ask(&bare), 'y', "nothing of the kernel is mapped");
	crt_same(ask(&replaced), 'y', "a file is mapped at the place of its code, its data are where they were");
}

const struct crt_test crt_test = {
	.text = "the vdso unmapped",
	.setup = setup,
	.verify = verify,
};
