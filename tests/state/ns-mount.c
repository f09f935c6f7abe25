// SPDX-License-Identifier: GPL-2.0-only
/* A mount namespace, made as any user may: a bind mount, one that is read-only, an empty tmpfs. */
#define _GNU_SOURCE
#include "crtest.h"
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
static int inside;

static void name_of(char *buf, size_t size)
{
	memset(buf, 0, size);
	CRT_SYS(readlink("/proc/self/ns/mnt", buf, size - 1));
}

static void put(const char *path, const char *text, int flags)
{
	int fd = (int)CRT_SYS(open(path, O_WRONLY | flags, 0644));

	CRT_SYS(write(fd, text, strlen(text)));
	close(fd);
}

/* Where each mount is, and what can be told of it but for numbers of mounts and devices. */
static void mounts(char *buf, size_t size)
{
	FILE *file = fopen("/proc/self/mountinfo", "r");
	static char lines[256][512];
	char line[1024], root[256], point[256], options[256], *rest;
	int n = 0;

	if (!file)
		crt_die("no mountinfo");
	while (n < 256 && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*s %*s %*s %255s %255s %255s", root, point, options) != 3)
			continue;
		rest = strstr(line, " - ");
		snprintf(lines[n++], sizeof(lines[0]), "%.120s %.120s %.80s %.120s", point, root, options,
			 rest ? rest : "?\n");
	}
	fclose(file);
	qsort(lines, (size_t)n, sizeof(lines[0]), (int (*)(const void *, const void *))strcmp);
	buf[0] = 0;
	for (int i = 0; i < n; i++)
		strncat(buf, lines[i], size - strlen(buf) - 1);
}

static void map_ids(uid_t uid, gid_t gid)
{
	char text[64];

	put("/proc/self/setgroups", "deny", 0);
	snprintf(text, sizeof(text), "0 %d 1", (int)uid);
	put("/proc/self/uid_map", text, 0);
	snprintf(text, sizeof(text), "0 %d 1", (int)gid);
	put("/proc/self/gid_map", text, 0);
}

static void setup(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();

	name_of(outer, sizeof(outer));
	CRT_SYS(getcwd(top, sizeof(top)) ? 0 : -1);
	CRT_SYS(mkdir("source", 0755));
	CRT_SYS(mkdir("shown", 0755));
	CRT_SYS(mkdir("sealed", 0755));
	CRT_SYS(mkdir("empty", 0755));
	put("source/file", "0123456789", O_CREAT);
	if (unshare(CLONE_NEWUSER))
		crt_skip("no user namespaces");
	map_ids(uid, gid);
	CRT_SYS(unshare(CLONE_NEWNS));
	CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CRT_SYS(mount("source", "shown", NULL, MS_BIND, NULL));
	CRT_SYS(mount("source", "sealed", NULL, MS_BIND, NULL));
	CRT_SYS(mount(NULL, "sealed", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, NULL));
	CRT_SYS(mount("none", "empty", "tmpfs", MS_NODEV, "size=64k,mode=700"));
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
	put(path, "x", O_CREAT | O_EXCL);
	crt_ok(!access(path, F_OK), "the new file system can be written");
	CRT_SYS(unlink(path));
	snprintf(path, sizeof(path), "%s/empty", top);
	crt_ok(!umount(path), "it may unmount it");
	CRT_SYS(mount("none", path, "tmpfs", MS_NODEV, "size=64k,mode=700"));
}

const struct crt_test crt_test = {
	.text = "a mount namespace",
	.setup = setup,
	.verify = verify,
};
