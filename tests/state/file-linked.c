// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that have lost the name by which they were opened, and have another one: what is written to them after a restart
 * is there. So programs make a complete file appear, by link() and unlink(), or by O_TMPFILE and linkat().
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKED, UNNAMED, MAPPED, FIFO, PLACE, FILES };
static const char *const what[FILES] = { "file", "O_TMPFILE", "mapped file", "FIFO", "O_PATH" };
static const char *const final[FILES] = { "linked", "unnamed", "mapped", "fifo", "place" };
static int fd[FILES];
static char *memory;

static int made(const char *name, int flags)
{
	int new;

	CRT_SYS(close((int)CRT_SYS(open(crt_path("temporary"), O_RDWR | O_CREAT | O_EXCL, 0600))));
	new = (int)CRT_SYS(open(crt_path("temporary"), flags));
	CRT_SYS(link(crt_path("temporary"), crt_path(name)));
	CRT_SYS(unlink(crt_path("temporary")));
	return new;
}

static void setup(void)
{
	char self[64];

	fd[LINKED] = made(final[LINKED], O_RDWR);
	CRT_SYS(write(fd[LINKED], "before", 6));
	fd[UNNAMED] = (int)CRT_SYS(open(crt_dir(), O_TMPFILE | O_RDWR, 0600));
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd[UNNAMED]);
	CRT_SYS(linkat(AT_FDCWD, self, AT_FDCWD, crt_path(final[UNNAMED]), AT_SYMLINK_FOLLOW));
	CRT_SYS(write(fd[UNNAMED], "before", 6));
	fd[MAPPED] = made(final[MAPPED], O_RDWR);
	CRT_SYS(ftruncate(fd[MAPPED], 4096));
	memory = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd[MAPPED], 0));
	strcpy(memory, "before");
	CRT_SYS(mkfifo(crt_path("temporary"), 0600));
	fd[FIFO] = (int)CRT_SYS(open(crt_path("temporary"), O_RDWR));
	CRT_SYS(link(crt_path("temporary"), crt_path(final[FIFO])));
	CRT_SYS(unlink(crt_path("temporary")));
	fd[PLACE] = made(final[PLACE], O_PATH);
}

static void same_file(int i)
{
	struct stat by_fd, by_name;

	CRT_SYS(fstat(fd[i], &by_fd));
	CRT_SYS(stat(crt_path(final[i]), &by_name));
	crt_ok(by_fd.st_ino == by_name.st_ino && by_fd.st_dev == by_name.st_dev, "%s: is the one that has the name", what[i]);
}

static void same_contents(int i, const char *expected)
{
	char buf[32] = "";
	int by_name = (int)CRT_SYS(open(crt_path(final[i]), O_RDONLY));

	CRT_SYS(pread(by_name, buf, sizeof(buf) - 1, 0));
	CRT_SYS(close(by_name));
	crt_same_str(buf, expected, "%s: what has been written is there by its name", what[i]);
}

static void verify(void)
{
	for (int i = 0; i < FILES; i++)
		same_file(i);
	for (int i = LINKED; i <= UNNAMED; i++) {
		CRT_SYS(write(fd[i], " after", 6));
		same_contents(i, "before after");
		/* For the second restart. */
		CRT_SYS(ftruncate(fd[i], 6));
	}
	strcpy(memory, "after");
	same_contents(MAPPED, "after");
	strcpy(memory, "before");
}

const struct crt_test crt_test = {
	.text = "a file that has lost one name and has another is still that file",
	.setup = setup,
	.verify = verify,
};
