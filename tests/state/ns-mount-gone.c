// SPDX-License-Identifier: GPL-2.0-only
/*
 * What has no name any more in a mount namespace of one's own, and FIFOs there: files and directories that have been removed,
 * of what the requester has mounted, too, and of a temporary file system of the namespace.  And what something else has been mounted
 * over: a device, and a file system covered by a part of itself that is also mounted elsewhere.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef GONE_FLAGS
#define GONE_FLAGS 0
#endif

enum { SHARED, OWN, PLACES };

static const char *const places[PLACES] = { "a file system that the requester has, too", "one of the namespace's" };
static char base[PLACES][256];
static struct {
	int file, again, reader, directory, fifo, gone_fifo;
	unsigned char *map;
} at[PLACES];

static int covered_null = -1;

static char *in(int place, const char *name)
{
	static char path[2][1024];
	static int next;

	next = !next;
	snprintf(path[next], sizeof(path[next]), "%s/%s", base[place], name);
	return path[next];
}

static void fill(int place)
{
	char name[64];

	at[place].file = (int)CRT_SYS(open(in(place, "gone"), O_RDWR | O_CREAT | O_APPEND, 0640));
	at[place].reader = (int)CRT_SYS(open(in(place, "gone"), O_RDONLY));
	CRT_SYS(write(at[place].file, "first second", 12));
	CRT_SYS(pread(at[place].reader, name, 0, 0));
	CRT_SYS(lseek(at[place].reader, 6, SEEK_SET));
	at[place].map = CRT_MAP(mmap(NULL, 4096, PROT_READ, MAP_SHARED, at[place].reader, 0));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", at[place].file);
	at[place].again = (int)CRT_SYS(open(name, O_WRONLY));
	CRT_SYS(unlink(in(place, "gone")));
	CRT_SYS(mkdir(in(place, "directory"), 0750));
	at[place].directory = (int)CRT_SYS(open(in(place, "directory"), O_RDONLY | O_DIRECTORY));
	CRT_SYS(rmdir(in(place, "directory")));
	CRT_SYS(mkfifo(in(place, "fifo"), 0600));
	at[place].fifo = (int)CRT_SYS(open(in(place, "fifo"), O_RDWR | O_NONBLOCK));
	CRT_SYS(write(at[place].fifo, "in it", 5));
	CRT_SYS(mkfifo(in(place, "gone fifo"), 0600));
	at[place].gone_fifo = (int)CRT_SYS(open(in(place, "gone fifo"), O_RDWR | O_NONBLOCK));
	CRT_SYS(write(at[place].gone_fifo, "in that", 7));
	CRT_SYS(unlink(in(place, "gone fifo")));
}

static void put_file(const char *path)
{
	int fd = (int)CRT_SYS(open(path, O_WRONLY | O_CREAT, 0600));

	CRT_SYS(write(fd, path, strlen(path)));
	CRT_SYS(close(fd));
}

static void cover(void)
{
	CRT_SYS(mkdir(crt_path("covered"), 0755));
	if (!mknod(crt_path("covered/null"), S_IFCHR | 0600, makedev(1, 3)))
		covered_null = open(crt_path("covered/null"), O_RDWR);
	CRT_SYS(mount("none", crt_path("covered"), "tmpfs", 0, "size=64k"));

	CRT_SYS(mkdir(crt_path("self"), 0755));
	CRT_SYS(mkdir(crt_path("whole"), 0755));
	CRT_SYS(mount("none", crt_path("self"), "tmpfs", 0, "size=64k"));
	CRT_SYS(mkdir(crt_path("self/part"), 0755));
	put_file(crt_path("self/top"));
	put_file(crt_path("self/part/inner"));
	CRT_SYS(mount(crt_path("self"), crt_path("whole"), NULL, MS_BIND, NULL));
	CRT_SYS(mount(crt_path("self/part"), crt_path("self"), NULL, MS_BIND, NULL));
}

static void verify_covered(void)
{
	struct stat st;

	if (covered_null >= 0)
		crt_ok(!fstat(covered_null, &st) && st.st_rdev == makedev(1, 3) && write(covered_null, "x", 1) == 1,
		       "a device that has been covered");
	crt_ok(!access(crt_path("self/inner"), F_OK), "a part of a file system covers that");
	crt_ok(!access(crt_path("whole/top"), F_OK) && !access(crt_path("whole/part/inner"), F_OK), "all of which is elsewhere");
}

static void setup(void)
{
	snprintf(base[SHARED], sizeof(base[SHARED]), "%s", crt_dir());
	snprintf(base[OWN], sizeof(base[OWN]), "%s", crt_path("own"));
	CRT_SYS(mkdir(base[OWN], 0755));
	if (getuid())
		crt_unshare_users(CLONE_NEWNS);
	else
		CRT_SYS(unshare(CLONE_NEWNS));
	CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CRT_SYS(mount("none", base[OWN], "tmpfs", 0, "size=1m"));
	for (int i = 0; i < PLACES; i++)
		fill(i);
	cover();
}

static void verify_file(int place)
{
	char text[64] = "";
	struct stat st, top;

	CRT_SYS(fstat(at[place].file, &st));
	CRT_SYS(stat(base[place], &top));
	crt_ok(st.st_nlink == 0 && st.st_mode == (S_IFREG | 0640) && st.st_size == 12, "a removed file: names, mode and size");
	crt_ok(st.st_dev == top.st_dev, "it is in the file system that it was in");
	CRT_SYS(read(at[place].reader, text, sizeof(text) - 1));
	crt_same_str(text, "second", "it is read from where that had come to");
	crt_ok(!memcmp(at[place].map, "first second", 12), "and mapped");
	CRT_SYS(pwrite(at[place].again, "F", 1, 0));
	crt_same(at[place].map[0], 'F', "written to by another descriptor, it is the same file");
	CRT_SYS(pwrite(at[place].again, "f", 1, 0));
	CRT_SYS(write(at[place].file, " third", 6));
	memset(text, 0, sizeof(text));
	CRT_SYS(pread(at[place].reader, text, sizeof(text) - 1, 0));
	crt_same_str(text, "first second third", "and appended to");
	crt_ok(access(in(place, "gone"), F_OK) && errno == ENOENT, "nothing has its name");
}

static void verify_others(int place)
{
	char text[64] = "";
	struct stat st, fifo;

	CRT_SYS(fstat(at[place].directory, &st));
	crt_ok(st.st_mode == (S_IFDIR | 0750) && st.st_nlink == 0, "a removed directory");
	crt_ok(access(in(place, "directory"), F_OK) && errno == ENOENT, "nothing has its name");
	CRT_SYS(fstat(at[place].fifo, &st));
	CRT_SYS(stat(in(place, "fifo"), &fifo));
	crt_ok(st.st_ino == fifo.st_ino && st.st_dev == fifo.st_dev, "a FIFO is the one with its name");
	crt_same(read(at[place].fifo, text, sizeof(text)), 5, "what is in it");
	crt_same_str(text, "in it", "as it was");
	memset(text, 0, sizeof(text));
	CRT_SYS(fstat(at[place].gone_fifo, &st));
	crt_same((long long)st.st_nlink, 0, "a removed FIFO");
	crt_same(read(at[place].gone_fifo, text, sizeof(text)), 7, "what is in that");
	crt_same_str(text, "in that", "as it was");
}

static void verify(void)
{
	for (int i = 0; i < PLACES; i++) {
		crt_diag("in %s:", places[i]);
		verify_file(i);
		verify_others(i);
	}
	verify_covered();
}

const struct crt_test crt_test = {
	.text = "files without a name and FIFOs in a mount namespace",
	.setup = setup,
	.verify = verify,
	.flags = GONE_FLAGS,
};
