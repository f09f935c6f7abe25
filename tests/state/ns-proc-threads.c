// SPDX-License-Identifier: GPL-2.0-only
/* Open files of the /proc of a pid namespace of the job's own, about a thread there. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	atomic_int round, told, tid;
	char stat[64], comm[64], status[64];
	int offset;
} *shared;

static pid_t child;

static void *live(void *arg)
{
	(void)arg;
	CRT_SYS(prctl(PR_SET_NAME, "inside"));
	for (;;) {
		atomic_store(&shared->tid, (int)syscall(SYS_gettid));
		crt_sleep_ms(10);
	}
	return NULL;
}

static int open_of(const char *format, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), format, atomic_load(&shared->tid));
	return (int)CRT_SYS(open(path, flags));
}

static void read_all(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

static void live_inside(void)
{
	int stat, comm, status, round = 0;
	pthread_t id;
	char byte, *end;

	CRT_SYS(mount("proc", "/proc", "proc", 0, NULL));
	CRT_SYS(-pthread_create(&id, NULL, live, NULL));
	while (!atomic_load(&shared->tid))
		crt_sleep_ms(5);
	stat = open_of("/proc/1/task/%d/stat", O_RDONLY);
	comm = open_of("/proc/1/task/%d/comm", O_RDWR);
	status = open_of("/proc/%d/status", O_RDONLY);
	CRT_SYS(read(stat, &byte, 1));
	for (;;) {
		round = atomic_load(&shared->round);
		read_all(stat, shared->stat, sizeof(shared->stat));
		end = strchr(shared->stat, ')');
		if (end)
			end[1] = '\0';
		CRT_SYS(write(comm, "named", 5));
		read_all(status, shared->status, sizeof(shared->status));
		CRT_SYS(write(comm, "inside", 6));
		read_all(comm, shared->comm, sizeof(shared->comm));
		shared->offset = (int)lseek(stat, 0, SEEK_CUR);
		atomic_store(&shared->told, round);
		while (round == atomic_load(&shared->round))
			crt_sleep_ms(5);
	}
}

static void setup(void)
{
	shared = CRT_MAP(mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	atomic_store(&shared->told, -1);
	crt_unshare_users(CLONE_NEWPID | CLONE_NEWNS);
	child = (pid_t)CRT_SYS(fork());
	if (!child)
		live_inside();
	for (int i = 0; atomic_load(&shared->told) < 0; i++) {
		if (i == 1000)
			crt_die("the process does not come up");
		crt_sleep_ms(10);
	}
}

static void verify(void)
{
	int round = atomic_fetch_add(&shared->round, 1) + 1;
	char expected[64];

	for (int i = 0; i < 1000 && atomic_load(&shared->told) != round; i++)
		crt_sleep_ms(10);
	crt_same(atomic_load(&shared->told), round, "the process lives");
	snprintf(expected, sizeof(expected), "%d (inside)", atomic_load(&shared->tid));
	crt_same_str(shared->stat, expected, "stat is the thread's");
	crt_same(shared->offset, 1, "offset");
	crt_same_str(shared->status, "Name:\tnamed", "the thread's name can be changed, of which status by its number alone tells");
	crt_same_str(shared->comm, "inside", "comm is the thread's");
	CRT_SYS(kill(child, SIGKILL));
	CRT_SYS(waitpid(child, NULL, 0));
}

const struct crt_test crt_test = {
	.text = "open files of a /proc of its own about threads",
	.setup = setup,
	.verify = verify,
};
