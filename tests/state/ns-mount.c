// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mount namespace, made as any user may: a bind mount, one that is read-only, an empty tmpfs, one with files,
 * a devpts.
 */
#define _GNU_SOURCE
#include "mountinfo.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static char outer[64];
static char top[256];
static char before[32768];
static int inside, in_full;

static void name_of(char *buf, size_t size)
{
	memset(buf, 0, size);
	CRT_SYS(readlink("/proc/self/ns/mnt", buf, size - 1));
}

#define BIG (3 << 20)
#define OLD 1000000000

/* Parts of it and all of it elsewhere, deeper and before it; and one in another that it hides. */
static void show_again(void)
{
	CRT_SYS(mkdir("deep", 0755));
	CRT_SYS(mkdir("deep/part", 0755));
	CRT_SYS(mkdir("deep/all", 0755));
	crt_put("deep/file", "covered", O_CREAT);
	CRT_SYS(mount("full/dir", "deep/part", NULL, MS_BIND, NULL));
	CRT_SYS(mount(NULL, "deep/part", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, NULL));
	CRT_SYS(mount("full/dir/file", "deep/file", NULL, MS_BIND, NULL));
	CRT_SYS(mount("full", "deep/all", NULL, MS_BIND | MS_REC, NULL));
	CRT_SYS(mount("none", "deep/all/dir", "tmpfs", 0, "size=4k"));
}

/* Files, one of them open, under a mount that hides a directory. */
static void fill(void)
{
	const struct timespec times[2] = { { OLD, 500 }, { OLD, 700 } };
	int fd;

	CRT_SYS(mount("none", "full", "tmpfs", MS_NOSUID, "size=8m,mode=755"));
	CRT_SYS(mkdir("full/dir", 0710));
	CRT_SYS(mkdir("full/dir/below", 0700));
	crt_put("full/dir/file", "contents", O_CREAT);
	crt_put("full/dir/below/hidden", "hidden", O_CREAT);
	CRT_SYS(symlink("/nowhere at all", "full/dir/link"));
	CRT_SYS(mkfifo("full/fifo", 0640));
	CRT_SYS(mknod("full/socket", S_IFSOCK | 0600, 0));
	CRT_SYS(link("full/dir/file", "full/again"));
	CRT_SYS(link("full/dir/link", "full/link again"));
	fd = (int)CRT_SYS(open("full/big", O_CREAT | O_RDWR, 0400));
	CRT_SYS(pwrite(fd, "middle", 6, BIG / 2));
	CRT_SYS(ftruncate(fd, BIG));
	close(fd);
	in_full = (int)CRT_SYS(open("full/dir/file", O_RDWR | O_CLOEXEC));
	CRT_SYS(lseek(in_full, 4, SEEK_SET));
	CRT_SYS(utimensat(AT_FDCWD, "full/dir/link", times, AT_SYMLINK_NOFOLLOW));
	CRT_SYS(utimensat(AT_FDCWD, "full/dir", times, 0));
	CRT_SYS(mount("source", "full/dir/below", NULL, MS_BIND, NULL));
	CRT_SYS(mount("none", "sealed_full", "tmpfs", MS_NOSUID, "size=64k"));
	crt_put("sealed_full/file", "sealed", O_CREAT);
	CRT_SYS(mount(NULL, "sealed_full", NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID, "size=64k"));
	show_again();
	CRT_SYS(mount("devpts", "pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"));
}

static void same_file(const char *name, mode_t mode, off_t size, const char *text)
{
	char path[300], is[64] = "";
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	CRT_SYS(lstat(path, &st));
	crt_ok(st.st_mode == mode && (!S_ISREG(mode) || st.st_size == size), "%s: mode and size", name);
	if (!text)
		return;
	if (S_ISLNK(mode)) {
		CRT_SYS(readlink(path, is, sizeof(is) - 1));
	} else {
		fd = (int)CRT_SYS(open(path, O_RDONLY));
		CRT_SYS(pread(fd, is, strlen(text), size == BIG ? BIG / 2 : 0));
		close(fd);
	}
	crt_same_str(is, text, name);
}

static void same_names(const char *one, const char *other)
{
	char path[300];
	struct stat a, b;

	snprintf(path, sizeof(path), "%s/%s", top, one);
	CRT_SYS(lstat(path, &a));
	snprintf(path, sizeof(path), "%s/%s", top, other);
	CRT_SYS(lstat(path, &b));
	crt_ok(a.st_ino == b.st_ino && a.st_nlink == 2, "%s has another name", one);
}

static void verify_again(void)
{
	struct stat st, again;
	char path[300];

	same_file("deep/part/file", S_IFREG | 0644, 8, "contents");
	same_file("deep/file", S_IFREG | 0644, 8, "contents");
	same_file("deep/all/again", S_IFREG | 0644, 8, "contents");
	snprintf(path, sizeof(path), "%s/full/dir/file", top);
	CRT_SYS(stat(path, &st));
	snprintf(path, sizeof(path), "%s/deep/file", top);
	CRT_SYS(stat(path, &again));
	crt_ok(st.st_dev == again.st_dev && st.st_ino == again.st_ino, "one file at two places");
	snprintf(path, sizeof(path), "%s/deep/part/new", top);
	crt_ok(open(path, O_WRONLY | O_CREAT, 0600) < 0 && errno == EROFS, "a part that is read-only");
	snprintf(path, sizeof(path), "%s/deep/all/new", top);
	crt_put(path, "new", O_CREAT | O_EXCL);
	same_file("full/new", S_IFREG | 0644, 3, "new");
	CRT_SYS(unlink(path));
	snprintf(path, sizeof(path), "%s/deep/all/dir/file", top);
	crt_ok(access(path, F_OK) && errno == ENOENT, "one that is covered by an empty one");
}

static void verify_files(void)
{
	char path[300], text[16] = "";
	struct stat st;

	same_file("full/dir", S_IFDIR | 0710, 0, NULL);
	same_file("full/dir/file", S_IFREG | 0644, 8, "contents");
	same_file("full/dir/link", S_IFLNK | 0777, 0, "/nowhere at all");
	same_file("full/fifo", S_IFIFO | 0640, 0, NULL);
	same_file("full/socket", S_IFSOCK | 0600, 0, NULL);
	same_names("full/dir/file", "full/again");
	same_names("full/dir/link", "full/link again");
	same_file("full/big", S_IFREG | 0400, BIG, "middle");
	same_file("full/dir/below/file", S_IFREG | 0644, 10, "0123456789");
	same_file("sealed_full/file", S_IFREG | 0644, 6, "sealed");
	verify_again();
	snprintf(path, sizeof(path), "%s/full/dir", top);
	CRT_SYS(lstat(path, &st));
	crt_ok(st.st_mtim.tv_sec == OLD && st.st_mtim.tv_nsec == 700, "time of a directory");
	snprintf(path, sizeof(path), "%s/full/dir/link", top);
	CRT_SYS(lstat(path, &st));
	crt_ok(st.st_mtim.tv_sec == OLD && st.st_mtim.tv_nsec == 700, "time of a link");
	snprintf(path, sizeof(path), "%s/full/big", top);
	CRT_SYS(stat(path, &st));
	crt_ok((size_t)st.st_blocks < 64 * (crt_page() / 4096), "holes in a file are holes");
	snprintf(path, sizeof(path), "%s/sealed_full/new", top);
	crt_ok(open(path, O_WRONLY | O_CREAT, 0600) < 0 && errno == EROFS, "a file system that is read-only");
	CRT_SYS(read(in_full, text, 4));
	crt_same_str(text, "ents", "an open file in there is where it was");
	CRT_SYS(lseek(in_full, 4, SEEK_SET));
	snprintf(path, sizeof(path), "%s/full/dir/below", top);
	CRT_SYS(umount(path));
	same_file("full/dir/below/hidden", S_IFREG | 0644, 6, "hidden");
	CRT_SYS(chdir(top));
	CRT_SYS(mount("source", "full/dir/below", NULL, MS_BIND, NULL));
	CRT_SYS(chdir("shown"));
	snprintf(path, sizeof(path), "%s/pts/ptmx", top);
	crt_ok(!access(path, R_OK | W_OK), "pseudoterminals of its own");
}

static void setup(void)
{
	name_of(outer, sizeof(outer));
	CRT_SYS(getcwd(top, sizeof(top)) ? 0 : -1);
	CRT_SYS(mkdir("source", 0755));
	CRT_SYS(mkdir("shown", 0755));
	CRT_SYS(mkdir("sealed", 0755));
	CRT_SYS(mkdir("empty", 0755));
	CRT_SYS(mkdir("full", 0755));
	CRT_SYS(mkdir("sealed_full", 0755));
	CRT_SYS(mkdir("pts", 0755));
	crt_put("source/file", "0123456789", O_CREAT);
	crt_unshare_users(0);
	CRT_SYS(unshare(CLONE_NEWNS));
	CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CRT_SYS(mount("source", "shown", NULL, MS_BIND, NULL));
	CRT_SYS(mount("source", "sealed", NULL, MS_BIND, NULL));
	CRT_SYS(mount(NULL, "sealed", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, NULL));
	CRT_SYS(mount("none", "empty", "tmpfs", MS_NODEV, "size=64k,mode=700"));
	fill();
	inside = (int)CRT_SYS(open("shown/file", O_RDWR | O_CLOEXEC));
	CRT_SYS(lseek(inside, 3, SEEK_SET));
	CRT_SYS(chdir("shown"));
	mounts(before, sizeof(before));
}

static void verify(void)
{
	static char after[sizeof(before)];
	char text[512], path[300];
	int fd;

	name_of(text, sizeof(text));
	crt_ok(strcmp(text, outer), "a mount namespace of its own");
	mounts(after, sizeof(after));
	crt_ok(!strcmp(before, after), "the same mounts with the same options");
	if (strcmp(before, after))
		crt_diag("before\n%s\nafter\n%s", before, after);
	crt_same_str(getcwd(text, sizeof(text)), strcat(strcpy(path, top), "/shown"), "working directory");
	crt_ok(!access("file", R_OK), "it shows what is bound there");
	memset(text, 0, sizeof(text));
	crt_ok(lseek(inside, 0, SEEK_CUR) == 3, "an open file is where it was");
	CRT_SYS(pread(inside, text, 3, 3));
	crt_same_str(text, "345", "it has its contents");
	snprintf(text, sizeof(text), "/proc/self/fd/%d", inside);
	memset(path, 0, sizeof(path));
	CRT_SYS(readlink(text, path, sizeof(path) - 1));
	crt_same_str(path, strcat(strcpy(text, top), "/shown/file"), "its path");
	snprintf(path, sizeof(path), "%s/sealed/file", top);
	fd = open(path, O_WRONLY);
	crt_ok(fd < 0 && errno == EROFS, "what is read-only cannot be written");
	snprintf(path, sizeof(path), "%s/empty/new", top);
	crt_put(path, "x", O_CREAT | O_EXCL);
	crt_ok(!access(path, F_OK), "the new file system can be written");
	CRT_SYS(unlink(path));
	verify_files();
	snprintf(path, sizeof(path), "%s/empty", top);
	crt_ok(!umount(path), "it may unmount it");
	CRT_SYS(mount("none", path, "tmpfs", MS_NODEV, "size=64k,mode=700"));
}

const struct crt_test crt_test = {
	.text = "a mount namespace",
	.setup = setup,
	.verify = verify,
};
