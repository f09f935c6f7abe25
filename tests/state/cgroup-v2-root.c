// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control groups of version 2 that the job has to itself: it is in them again, and they are what they were. In the case "gone" somebody
 * has removed them meanwhile, as whoever has made them for the first job will; in "threads", which is like that, its threads are in
 * groups of their own.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOT	"/sys/fs/cgroup"
#define MAGIC	0x63677270	/* CGROUP2_SUPER_MAGIC */

/* Settings, and in which of the groups. */
static const struct { int group; const char *file, *value; } settings[] = {
	{ 0, "cgroup.max.descendants", "20" },
	{ 0, "cgroup.subtree_control", "cpu memory pids" },
	{ 0, "pids.max", "300" },
	{ 1, "cgroup.max.depth", "5" },
	{ 1, "cgroup.subtree_control", "" },
	{ 1, "cpu.max", "60000 100000" },
	{ 1, "cpu.weight", "42" },
	{ 1, "memory.high", "1073741824" },
	{ 1, "memory.max", "1610612736" },
	{ 1, "memory.oom.group", "1" },
	{ 1, "pids.max", "77" },
	{ 2, "cgroup.type", "threaded" },
	{ 2, "cpu.weight", "33" },
	{ 3, "cgroup.type", "threaded" },
	{ 3, "pids.max", "5" },
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static char group[4][128];		/* the job's, the process's, and two for its threads */
static int groups;			/* that there are */
static char file_values[SETTINGS][256];
static struct stat before;
static pthread_t other;

static const char *file_of(int which, const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), ROOT "%s/%s", group[which], name);
	return path;
}

static void value_of(int which, const char *name, char *buf, size_t size)
{
	size_t len = crt_slurp(file_of(which, name), buf, size);

	if (len && buf[len - 1] == '\n')
		buf[len - 1] = '\0';
}

/* Of this thread. */
static void own_group(char *buf, size_t size)
{
	char text[512], *at;

	crt_slurp("/proc/thread-self/cgroup", text, sizeof(text));
	at = strstr(text, "0::");
	snprintf(buf, size, "%.*s", at ? (int)strcspn(at + 3, "\n") : 0, at ? at + 3 : "");
}

static void *live(void *arg)
{
	char now[256];

	(void)arg;
	if (groups > 2)
		crt_put(file_of(3, "cgroup.threads"), "0", 0);
	while (!crt_go())
		crt_sleep_ms(20);
	own_group(now, sizeof(now));
	crt_same_str(now, group[groups > 2 ? 3 : 1], "control group of the second thread");
	return NULL;
}

static bool is_populated(void)
{
	char text[256];

	if (access(file_of(0, "cgroup.events"), F_OK))
		return false;
	crt_slurp(file_of(0, "cgroup.events"), text, sizeof(text));
	return strstr(text, "populated 1");
}

/* Somebody outside, who removes what nobody is in any more, once each time: what is just being made is not for him. */
static void start_remover(void)
{
	pid_t pid = (pid_t)CRT_SYS(fork());

	if (pid) {
		waitpid(pid, NULL, 0);
		return;
	}
	if (fork())
		_exit(0);
	for (int fd = 0; fd < 64; fd++)
		close(fd);
	setsid();
	crt_put(ROOT "/cgroup.procs", "0", 0);
	for (int lives = 0; lives < 3; lives++) {
		while (!is_populated())
			usleep(10000);
		while (is_populated())
			usleep(10000);
		for (int i = groups - 1; i >= 0; i--)
			rmdir(file_of(i, ""));
	}
	_exit(0);
}

static void enable(const char *dir)
{
	static const char *const kinds[] = { "+cpu", "+memory", "+pids" };
	char path[1024];

	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
	for (size_t i = 0; i < 3; i++) {
		int fd = open(path, O_WRONLY);

		if (fd < 0 || write(fd, kinds[i], strlen(kinds[i])) < 0)
			crt_skip("this kernel has no controller %s: %s", kinds[i] + 1, strerror(errno));
		close(fd);
	}
}

static void make_groups(void)
{
	bool threads = crt_case && !strcmp(crt_case, "threads");

	groups = threads ? 4 : 2;
	snprintf(group[0], sizeof(group[0]), "/crt-%d", getpid());
	snprintf(group[1], sizeof(group[1]), "/crt-%d/job", getpid());
	snprintf(group[2], sizeof(group[2]), "/crt-%d/job/one", getpid());
	snprintf(group[3], sizeof(group[3]), "/crt-%d/job/two", getpid());
	for (int i = 0; i < groups; i++) {
		CRT_SYS(mkdir(file_of(i, ""), 0755));
		if (i == 0)
			enable(file_of(0, ""));
		if (i == 1 && threads) {
			crt_put(file_of(1, "cgroup.procs"), "0", 0);
			continue;
		}
		if (i >= 2)
			crt_put(file_of(i, "cgroup.type"), "threaded", 0);
	}
	if (threads) {
		crt_put(file_of(1, "cgroup.subtree_control"), "+cpu", 0);
		crt_put(file_of(1, "cgroup.subtree_control"), "+pids", 0);
	}
}

static bool is_set(size_t i)
{
	if (settings[i].group >= groups)
		return false;
	/* Of a group that has threaded ones. */
	return groups == 2 || settings[i].group != 1 || strcmp(settings[i].file, "cgroup.subtree_control");
}

static void setup(void)
{
	struct statfs system;

	if (statfs(ROOT, &system) || system.f_type != MAGIC)
		crt_skip("no control groups of version 2 at " ROOT);
	enable(ROOT);
	make_groups();
	for (size_t i = 0; i < SETTINGS; i++)
		if (is_set(i) && strcmp(settings[i].file, "cgroup.subtree_control") && strcmp(settings[i].file, "cgroup.type"))
			crt_put(file_of(settings[i].group, settings[i].file), settings[i].value, 0);
	for (size_t i = 0; i < SETTINGS; i++)
		if (is_set(i))
			value_of(settings[i].group, settings[i].file, file_values[i], sizeof(file_values[i]));
	CRT_SYS(chmod(file_of(1, ""), 0750));
	CRT_SYS(chown(file_of(1, ""), 12, 34));
	CRT_SYS(chown(file_of(1, "cgroup.procs"), 56, 78));
	CRT_SYS(stat(file_of(1, ""), &before));
	crt_put(file_of(groups == 2 ? 1 : 2, "cgroup.procs"), "0", 0);
	CRT_SYS(-pthread_create(&other, NULL, live, NULL));
	crt_sleep_ms(300);
	if (crt_case)
		start_remover();
}

static void verify(void)
{
	char now[256];
	struct stat st;

	own_group(now, sizeof(now));
	crt_same_str(now, group[groups == 2 ? 1 : 2], "control group of the first thread");
	pthread_join(other, NULL);
	for (size_t i = 0; i < SETTINGS; i++) {
		if (!is_set(i))
			continue;
		value_of(settings[i].group, settings[i].file, now, sizeof(now));
		crt_same_str(now, file_values[i], "%s of %s", settings[i].file, group[settings[i].group]);
		if (*settings[i].value)
			crt_same_str(file_values[i], settings[i].value, "which had been set");
	}
	CRT_SYS(stat(file_of(1, ""), &st));
	crt_same(st.st_mode, before.st_mode, "permissions of the directory");
	crt_same(st.st_uid, before.st_uid, "its owner");
	crt_same(st.st_gid, before.st_gid, "its group");
	CRT_SYS(stat(file_of(1, "cgroup.procs"), &st));
	crt_ok(st.st_uid == 56 && st.st_gid == 78, "owner of cgroup.procs (%d, %d)", st.st_uid, st.st_gid);
}

const struct crt_test crt_test = {
	.text = "control groups of version 2, and their settings",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
	.restart_args = "--cgroups=strict",
	.dead_ms = 800,
	.cases = "gone threads",
};
