// SPDX-License-Identifier: GPL-2.0-only
/* Tags (PROT_MTE) of a file in a temporary file system of a mount namespace of its own. */
#define _GNU_SOURCE
#include "tagged.h"
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

static size_t page;
static char path[300];
static char *mapped;

/* The file is not left open: it is there as a part of its file system. */
static char *map(int flags)
{
	int fd = (int)CRT_SYS(open(path, O_RDWR | flags, 0600));
	char *start;

	if (flags)
		CRT_SYS(ftruncate(fd, 4 * (off_t)page));
	start = CRT_MAP(mmap(NULL, 4 * page, PROT_READ | PROT_WRITE | TAGS, MAP_SHARED, fd, 0));
	close(fd);
	return start;
}

static void setup(void)
{
	char top[256];

	need_tags();
	page = crt_page();
	CRT_SYS(getcwd(top, sizeof(top)) ? 0 : -1);
	CRT_SYS(mkdir("full", 0755));
	crt_unshare_users(0);
	CRT_SYS(unshare(CLONE_NEWNS));
	CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CRT_SYS(mount("none", "full", "tmpfs", MS_NODEV, "size=64k,mode=700"));
	snprintf(path, sizeof(path), "%s/full/file", top);
	mapped = map(O_CREAT);
	crt_fill(mapped, page, 6);
	for (unsigned int i = 0; i < 4; i++) {
		set_tag(mapped + i * page, i + 3);
		set_tag(mapped + i * page + GRANULE, i + 8);
	}
}

static void verify(void)
{
	char *start = map(0);

	for (unsigned int i = 0; i < 4; i++) {
		crt_same(get_tag(start + i * page), i + 3, "page %u: the first tag", i);
		crt_same(get_tag(start + i * page + GRANULE), i + 8, "page %u: the second tag", i);
		crt_same(get_tag(mapped + i * page), i + 3, "page %u, where it was mapped: the first tag", i);
	}
	crt_same(crt_bad(start, page, 6), -1, "the first wrong byte");
	CRT_SYS(munmap(start, 4 * page));
}

const struct crt_test crt_test = {
	.text = "tags of a file in a mount namespace",
	.setup = setup,
	.verify = verify,
};
