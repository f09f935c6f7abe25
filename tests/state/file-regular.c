// SPDX-License-Identifier: GPL-2.0-only
/* Regular files: path, offset, flags, close-on-exec; nothing truncated, created or leaked. */
#define _GNU_SOURCE
#include "crtest.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct file {
	const char *name;
	int flags;			/* of open() */
	int later;			/* set by F_SETFL */
	off_t offset;
	int at;				/* descriptor number to have, 0: any */
	int fd, fl, cloexec;
	char link[512];
	ino_t inode;
} files[] = {
	{ .name = "read", .flags = O_RDONLY, .offset = 100 },
	{ .name = "write", .flags = O_WRONLY, .offset = 5000 },
	{ .name = "both", .flags = O_RDWR | O_CLOEXEC, .offset = 12345 },
	{ .name = "append", .flags = O_WRONLY | O_APPEND, .offset = 0 },
	{ .name = "truncate", .flags = O_RDWR | O_CREAT | O_TRUNC, .offset = 0 },
	{ .name = "exclusive", .flags = O_RDWR | O_CREAT | O_EXCL, .offset = 0 },
	{ .name = "sync", .flags = O_RDWR | O_SYNC, .offset = 7 },
	{ .name = "dsync", .flags = O_RDWR | O_DSYNC | O_NOFOLLOW, .offset = 8 },
	{ .name = "nonblock", .flags = O_RDWR | O_NOATIME, .later = O_NONBLOCK, .offset = 9 },
	{ .name = "late-append", .flags = O_RDWR, .later = O_APPEND, .offset = 3 },
	{ .name = "beyond", .flags = O_RDWR, .offset = 1LL << 33 },	/* past the end, past 4 GiB */
	{ .name = "high", .flags = O_RDONLY | O_CLOEXEC, .offset = 11, .at = 333 },
	{ .name = "path", .flags = O_PATH },
};

#define FILES (sizeof(files) / sizeof(files[0]))
#define SIZE 8000

static char listing_before[4096], listing_now[4096];

static void list_fds(char *buf, size_t size)
{
	DIR *dir = opendir("/proc/self/fd");
	int numbers[128], n = 0;
	size_t len = 0;

	for (struct dirent *e; (e = readdir(dir)) && n < 128;)
		if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(dir))
			numbers[n++] = atoi(e->d_name);
	closedir(dir);
	for (int i = 0; i < n; i++) {
		for (int j = i + 1; j < n; j++)
			if (numbers[j] < numbers[i]) {
				int t = numbers[i];

				numbers[i] = numbers[j];
				numbers[j] = t;
			}
		len += (size_t)snprintf(buf + len, size - len, "%d ", numbers[i]);
	}
}

static void link_of(int fd, char *buf, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, buf, size - 1);
	buf[n < 0 ? 0 : n] = 0;
}

static void open_one(struct file *f)
{
	struct stat st;

	if (!(f->flags & O_EXCL))
		crt_make_file(f->name, SIZE, 91);
	f->fd = (int)CRT_SYS(open(crt_path(f->name), f->flags, 0640));
	if (f->flags & (O_TRUNC | O_EXCL)) {
		char buf[SIZE];

		crt_fill(buf, SIZE, 91);
		CRT_SYS(write(f->fd, buf, SIZE));
	}
	if (f->at) {
		CRT_SYS(dup3(f->fd, f->at, f->flags & O_CLOEXEC));
		close(f->fd);
		f->fd = f->at;
	}
	if (f->offset)
		CRT_SYS(lseek(f->fd, f->offset, SEEK_SET));
	if (f->later)
		CRT_SYS(fcntl(f->fd, F_SETFL, fcntl(f->fd, F_GETFL) | f->later));
	f->offset = lseek(f->fd, 0, SEEK_CUR);
	f->fl = fcntl(f->fd, F_GETFL);
	f->cloexec = fcntl(f->fd, F_GETFD);
	link_of(f->fd, f->link, sizeof(f->link));
	CRT_SYS(fstat(f->fd, &st));
	f->inode = st.st_ino;
}

static void setup(void)
{
	for (size_t i = 0; i < FILES; i++)
		open_one(&files[i]);
	list_fds(listing_before, sizeof(listing_before));
}

static void check(struct file *f)
{
	char text[512];
	struct stat st;

	crt_same(lseek(f->fd, 0, SEEK_CUR), f->offset, "%s: offset", f->name);
	crt_same(fcntl(f->fd, F_GETFL), f->fl, "%s: flags", f->name);
	crt_same(fcntl(f->fd, F_GETFD), f->cloexec, "%s: close-on-exec", f->name);
	link_of(f->fd, text, sizeof(text));
	crt_same_str(text, f->link, "%s: path", f->name);
	CRT_SYS(fstat(f->fd, &st));
	crt_same((long long)st.st_ino, (long long)f->inode, "%s: inode", f->name);
}

static bool unchanged(const char *name)
{
	static char buf[SIZE + 10];
	int fd = open(crt_path(name), O_RDONLY);
	ssize_t n = read(fd, buf, sizeof(buf));

	close(fd);
	return n == SIZE && crt_bad(buf, SIZE, 91) == -1;
}

static void verify(void)
{
	char now[8], was[SIZE];
	int bad = 0;

	list_fds(listing_now, sizeof(listing_now));
	crt_same_str(listing_now, listing_before, "the descriptors in use");
	for (size_t i = 0; i < FILES; i++) {
		check(&files[i]);
		bad += !unchanged(files[i].name);
	}
	crt_same(bad, 0, "no file's contents changed");
	crt_fill(was, SIZE, 91);
	CRT_SYS(read(files[0].fd, now, 8));
	crt_ok(!memcmp(now, was + 100, 8), "reading goes on at the offset");
	CRT_SYS(write(files[1].fd, was + 5000, 8));	/* what is there anyway: a second restart finds it so */
	crt_same(lseek(files[1].fd, 0, SEEK_CUR), 5008, "writing too");
	crt_ok(unchanged("write"), "in the right place");
}

const struct crt_test crt_test = {
	.text = "open regular files",
	.setup = setup,
	.verify = verify,
};
