// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several mount namespaces in one job: each process finds its own, and what is mounted in two of them is the same.
 * One of the children is in a user namespace of its own too, where it may not take away what its parent mounted.
 */
#define _GNU_SOURCE
#include "mountinfo.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR 4

/* 0: the parent */
static struct view {
	char before[32768];
	char ns[64];
	int ask, answer;
	pid_t pid;
} view[NR];
static int in_common;

static bool has(const char *path, const char *text)
{
	char is[64] = "";
	int fd = open(path, O_RDONLY);

	if (fd >= 0)
		(void)!read(fd, is, sizeof(is) - 1);
	close(fd);
	return !strcmp(is, text);
}

static void look(struct view *v)
{
	memset(v->ns, 0, sizeof(v->ns));
	CRT_SYS(readlink("/proc/self/ns/mnt", v->ns, sizeof(v->ns) - 1));
	mounts(v->before, sizeof(v->before));
}

/* What has to be true in each; a letter for each that is not. */
static void answer(int i, char wrong[16])
{
	static struct view now;
	struct stat st, of_fd;

	look(&now);
	*wrong = 0;
	if (strcmp(now.before, view[i].before)) {
		strcat(wrong, "m");
		crt_diag("%d: before\n%s\nafter\n%s", i, view[i].before, now.before);
	}
	if (!has("common/file", "common"))
		strcat(wrong, "c");
	if (stat("common/file", &st) || fstat(in_common, &of_fd) || st.st_ino != of_fd.st_ino ||
	    st.st_dev != of_fd.st_dev)
		strcat(wrong, "i");
	if (!has("shown/file", i == 1 ? "" : "source"))
		strcat(wrong, "s");
	if (!has("own/file", i == 1 ? "first" : i == 2 ? "second" : ""))
		strcat(wrong, "o");
	if (!has("part/inner", i == 1 ? "inner" : ""))
		strcat(wrong, "p");
	if (i == 2 && (!umount("common") || errno != EINVAL))
		strcat(wrong, "l");
	/* What it mounted itself it may take away. */
	if (i == 2 && (umount("own") || has("own/file", "second") || mount("again", "own", NULL, MS_BIND, NULL)))
		strcat(wrong, "u");
	if (!*wrong)
		strcpy(wrong, "ok");
}

static void live(int i)
{
	char wrong[16], byte;

	while (read(view[i].ask, &byte, 1) == 1) {
		answer(i, wrong);
		(void)!write(view[i].answer, wrong, sizeof(wrong));
	}
	_exit(0);
}

static void become(int i)
{
	if (i == 1) {
		CRT_SYS(unshare(CLONE_NEWNS));
		CRT_SYS(umount("shown"));
		CRT_SYS(mount("none", "own", "tmpfs", MS_NODEV, "size=64k"));
		crt_put("own/file", "first", O_CREAT);
		CRT_SYS(mount("common/dir", "part", NULL, MS_BIND, NULL));
	} else if (i == 2) {
		CRT_SYS(unshare(CLONE_NEWUSER | CLONE_NEWNS));
		crt_map_ids(0, 0);
		CRT_SYS(mount("none", "own", "tmpfs", MS_NODEV, "size=128k"));
		crt_put("own/file", "second", O_CREAT);
		CRT_SYS(mount("own", "again", NULL, MS_BIND, NULL));
	}
	/* the last one stays where its parent is */
	look(&view[i]);
}

static void start(int i)
{
	int ask[2], answers[2];
	char byte;

	CRT_SYS(pipe(ask));
	CRT_SYS(pipe(answers));
	view[i].ask = ask[1];
	view[i].answer = answers[0];
	view[i].pid = (pid_t)CRT_SYS(fork());
	if (!view[i].pid) {
		view[i].ask = ask[0];
		view[i].answer = answers[1];
		close(ask[1]);
		become(i);
		CRT_SYS(write(answers[1], "r", 1));
		live(i);
	}
	close(ask[0]);
	close(answers[1]);
	CRT_SYS(read(answers[0], &byte, 1));
}

static void setup(void)
{
	static const char *const names[] = { "source", "shown", "common", "own", "part", "again" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CRT_SYS(mkdir(names[i], 0755));
	crt_put("source/file", "source", O_CREAT);
	crt_unshare_users(0);
	CRT_SYS(unshare(CLONE_NEWNS));
	CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CRT_SYS(mount("source", "shown", NULL, MS_BIND, NULL));
	CRT_SYS(mount("none", "common", "tmpfs", MS_NODEV, "size=1m"));
	CRT_SYS(mkdir("common/dir", 0755));
	crt_put("common/dir/inner", "inner", O_CREAT);
	crt_put("common/file", "common", O_CREAT);
	in_common = (int)CRT_SYS(open("common/file", O_RDONLY | O_CLOEXEC));
	look(&view[0]);
	for (int i = 1; i < NR; i++)
		start(i);
}

static void name_of(pid_t pid, char *buf, size_t size)
{
	char path[64];

	memset(buf, 0, size);
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	CRT_SYS(readlink(path, buf, size - 1));
}

static void verify(void)
{
	char wrong[16], ns[NR][64];

	answer(0, wrong);
	crt_same_str(wrong, "ok", "the parent's own mounts");
	name_of(getpid(), ns[0], sizeof(ns[0]));
	for (int i = 1; i < NR; i++) {
		memset(wrong, 0, sizeof(wrong));
		CRT_SYS(write(view[i].ask, "?", 1));
		CRT_SYS(read(view[i].answer, wrong, sizeof(wrong)));
		crt_same_str(wrong, "ok", "what process %d has mounted", i);
		name_of(view[i].pid, ns[i], sizeof(ns[i]));
	}
	crt_ok(strcmp(ns[0], ns[1]) && strcmp(ns[0], ns[2]) && strcmp(ns[1], ns[2]), "each has its own namespace");
	crt_ok(!strcmp(ns[0], ns[3]), "but for who has that of its parent");
	crt_put("common/new", "new", O_CREAT | O_EXCL);
	CRT_SYS(unlink("common/new"));
}

const struct crt_test crt_test = {
	.text = "several mount namespaces in one job",
	.setup = setup,
	.verify = verify,
	.checkpoint_args = "--tree",
};
