// SPDX-License-Identifier: GPL-2.0-only
/*
 * A removed working directory that processes in different mount namespaces and root directories are in, as a sandbox started there:
 * what ".." leads each of them to is in its own tree, and shows nothing that is hidden there.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef REMOVED_FLAGS
#define REMOVED_FLAGS 0
#endif

/* Bits of what a process finds. */
enum { SEES_MACHINES = 1, SEES_OWN = 2, SAME_ROOT = 4, NAMELESS = 8 };

enum { SANDBOX, JAIL, CHILDREN };

static struct child {
	pid_t pid;
	int ask[2], answer[2];
	int before;
} child[CHILDREN];
static int before;

static bool same_file(const char *a, const char *b)
{
	struct stat one, other;

	return !stat(a, &one) && !stat(b, &other) && one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

static int find(void)
{
	struct stat here;

	return (access("../../hidden/machines", F_OK) ? 0 : SEES_MACHINES) | (access("../../hidden/own", F_OK) ? 0 : SEES_OWN) |
	       (same_file("../../../../../../../..", "/") ? SAME_ROOT : 0) |
	       (!stat(".", &here) && here.st_nlink == 0 ? NAMELESS : 0);
}

static void answer_for_ever(const struct child *c)
{
	int found;
	char byte;

	while (read(c->ask[0], &byte, 1) == 1) {
		found = find();
		CRT_SYS(write(c->answer[1], &found, sizeof(found)));
	}
	_exit(0);
}

static int ask(const struct child *c)
{
	int found = -1;

	CRT_SYS(write(c->ask[1], "?", 1));
	if (read(c->answer[0], &found, sizeof(found)) != sizeof(found))
		crt_die("no answer");
	return found;
}

static void make_file(const char *path)
{
	close((int)CRT_SYS(open(path, O_WRONLY | O_CREAT, 0600)));
}

static void own_namespace(void)
{
	if (getuid())
		crt_unshare_users(CLONE_NEWNS);
	else
		CRT_SYS(unshare(CLONE_NEWNS));
	CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CRT_SYS(mount("none", crt_path("hidden"), "tmpfs", 0, "size=64k"));
	make_file(crt_path("hidden/own"));
}

static void start(struct child *c, bool jail)
{
	CRT_SYS(pipe(c->ask));
	CRT_SYS(pipe(c->answer));
	c->pid = (pid_t)CRT_SYS(fork());
	if (c->pid)
		return;
	/* It ends when its parent closes that. */
	for (int i = 0; i < CHILDREN; i++)
		if (child[i].ask[1])
			close(child[i].ask[1]);
	own_namespace();
	if (jail && CRT_SYS(fork())) {		/* somebody has the usual root directory there */
		wait(NULL);
		_exit(0);
	}
	if (jail) {
		CRT_SYS(chdir("../../jail/sub/removed"));
		CRT_SYS(chroot(crt_path("jail")));
		CRT_SYS(rmdir("/sub/removed"));
	}
	answer_for_ever(c);
}

static void setup(void)
{
	CRT_SYS(mkdir("hidden", 0700));
	make_file("hidden/machines");
	CRT_SYS(mkdir("jail", 0700));
	CRT_SYS(mkdir("jail/sub", 0700));
	CRT_SYS(mkdir("jail/sub/removed", 0700));
	CRT_SYS(mkdir("x", 0700));
	CRT_SYS(mkdir("x/removed", 0700));
	CRT_SYS(chdir("x/removed"));
	start(&child[JAIL], true);
	child[JAIL].before = ask(&child[JAIL]);
	start(&child[SANDBOX], false);
	ask(&child[SANDBOX]);
	CRT_SYS(rmdir(crt_path("x/removed")));
	child[SANDBOX].before = ask(&child[SANDBOX]);
	before = find();
	crt_same(before, SEES_MACHINES | SAME_ROOT | NAMELESS, "the parent sees the machine's tree");
	crt_same(child[SANDBOX].before, SEES_OWN | SAME_ROOT | NAMELESS, "the sandbox its own");
	crt_same(child[JAIL].before, SAME_ROOT | NAMELESS, "the one with a root directory of its own only what is in there");
}

static void verify(void)
{
	crt_same(find(), before, "what the parent finds above its working directory");
	crt_same(ask(&child[SANDBOX]), child[SANDBOX].before, "what the sandbox finds");
	crt_same(ask(&child[JAIL]), child[JAIL].before, "what the one with a root directory of its own finds");
	for (int i = 0; i < CHILDREN; i++) {
		CRT_SYS(close(child[i].ask[1]));
		CRT_SYS(waitpid(child[i].pid, NULL, 0));
	}
}

const struct crt_test crt_test = {
	.text = "removed working directories of processes in different mount namespaces and root directories",
	.setup = setup,
	.verify = verify,
	.flags = REMOVED_FLAGS,
};
