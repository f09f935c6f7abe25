// SPDX-License-Identifier: GPL-2.0-only
/* Open files without a name: unlinked, replaced, O_TMPFILE; contents, holes, mode, sharing. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE 100001
#define HOLE (64 << 20)

static int gone, twin, replaced, temporary, empty, nofollow;
static int nofollow_flags;

static void setup(void)
{
	static char buf[SIZE];
	const char *path = crt_make_file("gone", SIZE, 101);

	gone = (int)CRT_SYS(open(path, O_RDWR | O_CLOEXEC));
	twin = (int)CRT_SYS(open(path, O_RDONLY));
	CRT_SYS(ftruncate(gone, HOLE));
	CRT_SYS(pwrite(gone, "end", 3, HOLE - 3));
	CRT_SYS(fchmod(gone, 0600));
	CRT_SYS(lseek(gone, 4321, SEEK_SET));
	CRT_SYS(unlink(path));
	path = crt_make_file("replaced", 500, 102);
	replaced = (int)CRT_SYS(open(path, O_RDWR));
	CRT_SYS(rename(crt_make_file("new", 500, 103), path));
	path = crt_make_file("empty", 0, 0);
	empty = (int)CRT_SYS(open(path, O_RDWR | O_APPEND));
	CRT_SYS(unlink(path));
	/* as sqlite opens its temporary files */
	nofollow = (int)CRT_SYS(open(crt_path("nofollow"), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	nofollow_flags = fcntl(nofollow, F_GETFL);
	CRT_SYS(unlink(crt_path("nofollow")));
	CRT_SYS(write(nofollow, "temporary", 9));
	temporary = open(crt_dir(), O_TMPFILE | O_RDWR, 0600);
	if (temporary >= 0) {
		crt_fill(buf, SIZE, 104);
		CRT_SYS(write(temporary, buf, SIZE));
	}
}

static void same_contents(int fd, size_t size, uint64_t seed, const char *what)
{
	static char buf[SIZE];

	memset(buf, 0, sizeof(buf));
	CRT_SYS(pread(fd, buf, size, 0));
	crt_same(crt_bad(buf, size, seed), -1, "%s: contents", what);
}

static void verify(void)
{
	char buf[4] = "";
	struct stat st;

	same_contents(gone, SIZE, 101, "unlinked");
	CRT_SYS(pread(gone, buf, 3, HOLE - 3));
	crt_same_str(buf, "end", "unlinked: the bytes after a hole");
	CRT_SYS(fstat(gone, &st));
	crt_same(st.st_size, HOLE, "unlinked: size");
	crt_ok(st.st_blocks * 512 < HOLE / 4, "unlinked: the hole is one still (%lld KiB)", (long long)st.st_blocks / 2);
	crt_same(st.st_nlink, 0, "unlinked: has no name");
	crt_same(st.st_mode & 07777, 0600, "unlinked: mode");
	crt_same(lseek(gone, 0, SEEK_CUR), 4321, "unlinked: offset");
	crt_same(lseek(twin, 0, SEEK_CUR), 0, "unlinked, opened twice: an offset of its own");
	CRT_SYS(pwrite(gone, "XYZ", 3, 10));
	CRT_SYS(pread(twin, buf, 3, 10));
	crt_same_str(buf, "XYZ", "unlinked, opened twice: the same file");
	crt_same(fcntl(twin, F_GETFL) & O_ACCMODE, O_RDONLY, "unlinked, opened twice: access mode");
	same_contents(replaced, 500, 102, "replaced");
	CRT_SYS(fstat(empty, &st));
	crt_same(st.st_size, 0, "empty: size");
	CRT_SYS(write(empty, "abc", 3));
	CRT_SYS(pread(empty, buf, 3, 0));
	crt_same_str(buf, "abc", "empty: can be written");
	if (temporary >= 0) {
		same_contents(temporary, SIZE, 104, "O_TMPFILE");
		crt_same(lseek(temporary, 0, SEEK_CUR), SIZE, "O_TMPFILE: offset");
	}
	CRT_SYS(pread(nofollow, buf, 3, 6));
	crt_same_str(buf, "ary", "opened with O_NOFOLLOW: contents");
	crt_same(fcntl(nofollow, F_GETFL) | O_NOFOLLOW, nofollow_flags | O_NOFOLLOW, "opened with O_NOFOLLOW: flags");
	crt_ok(access(crt_path("gone"), F_OK) && access(crt_path("empty"), F_OK), "no name has come back");
}

const struct crt_test crt_test = {
	.text = "contents of deleted open files are kept",
	.setup = setup,
	.verify = verify,
	.max_context_kib = 8192,
};
