// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that are only read, and whose contents are in the context (--save-open): used while they are there, else what they had.
 * The first restart takes the names away, so that the second finds them gone.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE 70001

static int gone, twin, copy, changed, empty, holes, linked;
static char *mapped;
static char gone_path[4096], changed_path[4096], empty_path[4096], holes_path[4096], linked_path[4096];

static int open_file(char *keep, const char *name, size_t size, uint64_t seed, int flags)
{
	strcpy(keep, crt_make_file(name, size, seed));
	return (int)CRT_SYS(open(keep, O_RDONLY | flags));
}

static void setup(void)
{
	gone = open_file(gone_path, "gone", SIZE, 301, O_CLOEXEC);
	twin = (int)CRT_SYS(open(gone_path, O_RDONLY));
	copy = (int)CRT_SYS(dup(gone));
	mapped = CRT_MAP(mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, gone, 0));
	CRT_SYS(lseek(gone, 4321, SEEK_SET));
	changed = open_file(changed_path, "changed", SIZE, 302, 0);
	empty = open_file(empty_path, "empty", 0, 0, O_NONBLOCK);
	holes = open_file(holes_path, "holes", 100, 303, 0);
	CRT_SYS(truncate(holes_path, 50000));
	linked = open_file(linked_path, "linked", 500, 304, 0);
	CRT_SYS(link(linked_path, crt_path("link")));
}

static void same_contents(int fd, size_t size, uint64_t seed, const char *what)
{
	static char buf[SIZE];

	memset(buf, 0, sizeof(buf));
	crt_same(pread(fd, buf, size, 0), (long long)size, "%s: size", what);
	crt_same(crt_bad(buf, size, seed), -1, "%s: contents", what);
}

static ino_t inode_of(int fd)
{
	struct stat st;

	CRT_SYS(fstat(fd, &st));
	return st.st_ino;
}

static void verify(void)
{
	static char buf[50000];
	struct stat st;
	size_t i;

	same_contents(gone, SIZE, 301, "gone");
	crt_same(crt_bad(mapped, SIZE, 301), -1, "gone: mapped");
	crt_same(lseek(copy, 0, SEEK_CUR), 4321, "gone: offset, by a copy of the descriptor");
	crt_same(lseek(twin, 0, SEEK_CUR), 0, "gone: an offset of its own where it was opened again");
	crt_same((long long)inode_of(twin), (long long)inode_of(gone), "gone: one file, opened twice");
	crt_same(fcntl(gone, F_GETFL) & O_ACCMODE, O_RDONLY, "gone: access mode");
	crt_same(fcntl(gone, F_GETFD), FD_CLOEXEC, "gone: close-on-exec");
	CRT_SYS(fstat(gone, &st));
	crt_same(st.st_mode & 07777, 0644, "gone: mode");
	same_contents(changed, SIZE, 302, "changed");
	CRT_SYS(fstat(empty, &st));
	crt_same(st.st_size, 0, "empty: size");
	crt_same(fcntl(empty, F_GETFL) & O_NONBLOCK, O_NONBLOCK, "empty: status flags");
	same_contents(holes, 100, 303, "with a hole");
	CRT_SYS(pread(holes, buf, sizeof(buf), 0));
	for (i = 100; i < sizeof(buf) && !buf[i]; i++)
		;
	crt_same((long long)i, sizeof(buf), "with a hole: the hole");
	same_contents(linked, 500, 304, "with two names");

	unlink(gone_path);
	unlink(empty_path);
	unlink(holes_path);
	unlink(linked_path);
	CRT_SYS(rename(crt_make_file("other", SIZE, 999), changed_path));
}

const struct crt_test crt_test = {
	.text = "files that are only read are gone, or have changed, and their contents are in the context",
	.setup = setup,
	.verify = verify,
	.checkpoint_args = "--save-open",
};
