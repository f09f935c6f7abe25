// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads with working directories and umasks of their own, as file servers have them: two that share one,
 * one in a directory that has been removed, and those that share the process's.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OWN, WITH_OWN, REMOVED, COMMON, THREADS };

static const char *const names[] = { "one of its own", "one that shares that", "one in a removed directory",
				     "one that shares the process's" };

static struct {
	pthread_t id;
	atomic_int asked, answered;
	const char *go_to;			/* NULL: only tell */
	char cwd[512];
	int error;				/* of getcwd() */
	mode_t mask;
} thread[THREADS];

static char before[THREADS][512], own_before[512];
static atomic_int ready;

static mode_t current_umask(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return mask;
}

static void tell(int who)
{
	if (thread[who].go_to)
		CRT_SYS(chdir(thread[who].go_to));
	thread[who].error = getcwd(thread[who].cwd, sizeof(thread[who].cwd)) ? 0 : errno;
	if (thread[who].error)
		thread[who].cwd[0] = 0;
	thread[who].mask = current_umask();
}

static void *live(void *arg)
{
	int who = (int)(long)arg;

	if (who == OWN || who == REMOVED) {
		CRT_SYS(unshare(CLONE_FS));
		CRT_SYS(chdir(crt_path(who == OWN ? "own" : "removed")));
		umask(who == OWN ? 0077 : 0007);
	}
	if (who == REMOVED)
		CRT_SYS(rmdir(crt_path("removed")));
	if (who == OWN)
		CRT_SYS(-pthread_create(&thread[WITH_OWN].id, NULL, live, (void *)(long)WITH_OWN));
	ready++;
	for (;;) {
		while (thread[who].asked == thread[who].answered)
			crt_sleep_ms(10);
		tell(who);
		thread[who].answered++;
	}
	return NULL;
}

static void ask(int who, const char *go_to)
{
	thread[who].go_to = go_to;
	thread[who].asked++;
	while (thread[who].asked != thread[who].answered)
		crt_sleep_ms(10);
}

static const char *cwd_of(int who)
{
	ask(who, NULL);
	return thread[who].cwd;
}

static const char *own_cwd(void)
{
	static char cwd[512];

	return getcwd(cwd, sizeof(cwd)) ? cwd : "none";
}

static void setup(void)
{
	CRT_SYS(mkdir(crt_path("own"), 0755));
	CRT_SYS(mkdir(crt_path("removed"), 0755));
	CRT_SYS(mkdir(crt_path("other"), 0755));
	umask(0027);
	for (long i = 0; i < THREADS; i++)
		if (i != WITH_OWN)
			CRT_SYS(-pthread_create(&thread[i].id, NULL, live, (void *)i));
	while (ready < THREADS)
		crt_sleep_ms(10);
	for (int i = 0; i < THREADS; i++)
		strcpy(before[i], cwd_of(i));
	if (thread[REMOVED].error != ENOENT)
		crt_die("a removed directory has a name");
	strcpy(own_before, own_cwd());
}

static void verify(void)
{
	static const mode_t masks[] = { 0077, 0077, 0007, 0027 };
	char own[512];

	for (int i = 0; i < THREADS; i++) {
		crt_same_str(cwd_of(i), before[i], "working directory of %s", names[i]);
		crt_same(thread[i].error, i == REMOVED ? ENOENT : 0, "which has a name, or none");
		crt_same(thread[i].mask, masks[i], "and its umask");
	}
	crt_same_str(own_cwd(), own_before, "working directory of the process");
	crt_same(current_umask(), 0027, "and its umask");
	ask(OWN, crt_path("other"));
	crt_same_str(cwd_of(WITH_OWN), crt_path("other"), "two share one: it moves for both");
	crt_same_str(own_cwd(), own_before, "but not for the process");
	ask(OWN, before[OWN]);
	ask(COMMON, crt_path("other"));
	strcpy(own, own_cwd());
	crt_same_str(own, crt_path("other"), "another shares the process's: it moves for both");
	crt_same_str(cwd_of(OWN), before[OWN], "but not for those with their own");
	ask(COMMON, own_before);
}

const struct crt_test crt_test = {
	.text = "threads keep working directories and umasks of their own",
	.setup = setup,
	.verify = verify,
};
