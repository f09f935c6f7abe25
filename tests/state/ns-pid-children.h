/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ns-pid-children.h - the tests ns-pid-children and ns-pid-children-root
 *
 * Pid namespaces for children in which nobody is: as unshare -Up has it before it forks, and after the first process has
 * ended.
 */
#ifndef NS_PID_CHILDREN_H
#define NS_PID_CHILDREN_H

#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

enum { UNUSED, ENDED, PLAIN, MEMBERS };

static const char *const names[] = { "before the first process", "after it", "without a user namespace, by nobody" };

static struct {
	atomic_uint ready;
	atomic_uint go;
	struct {
		int fork_error;
		pid_t is_called;	/* its child, by itself */
		pid_t parent;		/* by the child */
		ino_t user_ns;
		atomic_bool told;
	} member[MEMBERS];
} *shared;

/* How many of them there are: only root can do without a user namespace. */
static const unsigned int members;

static ino_t user_ns(void)
{
	struct stat st;

	CRT_SYS(stat("/proc/self/ns/user", &st));
	return st.st_ino;
}

static int fork_first(int who)
{
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (!pid) {
		shared->member[who].is_called = getpid();
		shared->member[who].parent = getppid();
		_exit(0);
	}
	CRT_SYS(waitpid(pid, NULL, 0));
	return 0;
}

static void live(int who)
{
	uid_t uid = getuid();
	gid_t gid = getgid();

	CRT_SYS(unshare(CLONE_NEWPID | (who == PLAIN ? 0 : CLONE_NEWUSER)));
	if (who == ENDED) {
		crt_map_ids(uid, gid);
		CRT_SYS(-fork_first(who));
	}
	if (who == PLAIN)
		CRT_SYS(setresuid(NOBODY, NOBODY, NOBODY));
	CRT_SYS(prctl(PR_SET_PDEATHSIG, SIGKILL));	/* forgotten with a change of users */
	atomic_fetch_add(&shared->ready, 1);
	while (!atomic_load(&shared->go))
		crt_sleep_ms(5);
	if (who == UNUSED)
		crt_map_ids(uid, gid);
	shared->member[who].fork_error = fork_first(who);
	shared->member[who].user_ns = user_ns();
	atomic_store(&shared->member[who].told, true);
	for (;;)
		pause();
}

static bool may_unshare(void)
{
	int status = 0;
	pid_t pid = (pid_t)CRT_SYS(fork());

	if (!pid)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0);
	CRT_SYS(waitpid(pid, &status, 0));
	return status == 0;
}

static void setup(void)
{
	shared = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	if (!may_unshare())
		crt_skip("no user namespaces");
	for (unsigned int i = 0; i < members; i++)
		if (!CRT_SYS(fork()))
			live((int)i);
	for (int wait = 0; atomic_load(&shared->ready) != members; wait++) {
		if (wait == 2000)
			crt_die("the processes do not come up");
		crt_sleep_ms(5);
	}
	shared->member[ENDED].is_called = shared->member[ENDED].parent = -1;
}

static void verify(void)
{
	atomic_store(&shared->go, 1);
	for (unsigned int i = 0; i < members; i++) {
		for (int wait = 0; wait < 2000 && !atomic_load(&shared->member[i].told); wait++)
			crt_sleep_ms(5);
		if (!crt_ok(atomic_load(&shared->member[i].told), "%s: the process lives", names[i]))
			continue;
		crt_same(shared->member[i].fork_error, i == ENDED ? ENOMEM : 0, "%s: fork()", names[i]);
		crt_same(shared->member[i].is_called, i == ENDED ? -1 : 1, "%s: the child is the first there", names[i]);
		crt_same(shared->member[i].parent, i == ENDED ? -1 : 0, "%s: and sees no parent", names[i]);
		crt_same(shared->member[i].user_ns == user_ns(), i == PLAIN, "%s: the user namespace", names[i]);
	}
}

#endif /* NS_PID_CHILDREN_H */
