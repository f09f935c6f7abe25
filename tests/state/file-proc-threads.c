// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open files of /proc about threads other than the first of a process: their own process's, and those of a child and a parent.
 * Offsets, flags, directories, what may be written to, several descriptors, an open file that was shared by fork(2).
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef FLAGS
#define FLAGS		0
/* What the child does first. */
static void become(void)
{
}
#endif

#define ALSO		61		/* another number for a file */

/* What the child tells. */
static struct {
	atomic_int round, told;
	atomic_int tid;
	char stat[2][64];		/* of the parent's thread: opened before fork(2), and by the child */
	char status[64];		/* of its own, which it has named by comm */
	char memory[16];		/* by that of its thread */
	bool others;			/* environ, which is its user's alone */
} *shared;

static atomic_int tid, number;		/* of the other thread, and how often it has said so */
static int stat_fd, comm_fd, status_fd, dir_fd, place_fd, memory_fd, task_fd, environ_fd, of_child_fd, fork_fd, mounts_fd;
static char secret[16] = "in my memory";
static pid_t child;

static void *live(void *name)
{
	CRT_SYS(prctl(PR_SET_NAME, name));
	for (;;) {
		atomic_store(&tid, (int)syscall(SYS_gettid));
		atomic_fetch_add(&number, 1);
		crt_sleep_ms(10);
	}
	return NULL;
}

static int start_thread(const char *name)
{
	pthread_t id;

	atomic_store(&tid, 0);
	CRT_SYS(-pthread_create(&id, NULL, live, (void *)(uintptr_t)name));
	while (!atomic_load(&tid))
		crt_sleep_ms(5);
	return atomic_load(&tid);
}

static int open_of(pid_t pid, int of, const char *name, int flags)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/task/%d%s", (int)pid, of, name);
	return (int)CRT_SYS(open(path, flags));
}

static void read_all(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

/* Up to its state. */
static void read_stat(int fd, char *text, size_t size)
{
	char *end;

	read_all(fd, text, size);
	end = strchr(text, ')');
	if (end)
		end[1] = '\0';
}

static void live_as_child(pid_t parent, int of)
{
	int own = open_of(parent, of, "/stat", O_RDONLY), status, comm, memory, environ_of, round = 0;
	char byte;

	/* Not for another user. */
	CRT_SYS(close(comm_fd));
	CRT_SYS(close(memory_fd));
	CRT_SYS(close(environ_fd));
	become();
	shared->tid = start_thread("child's");
	status = open_of(getpid(), shared->tid, "/status", O_RDONLY);
	comm = open_of(getpid(), shared->tid, "/comm", O_RDWR);
	memory = open_of(getpid(), shared->tid, "/mem", O_RDWR);
	environ_of = open_of(getpid(), shared->tid, "/environ", O_RDONLY);
	for (;;) {
		while (round == atomic_load(&shared->round))
			crt_sleep_ms(5);
		round = atomic_load(&shared->round);
		read_stat(fork_fd, shared->stat[0], sizeof(shared->stat[0]));
		read_stat(own, shared->stat[1], sizeof(shared->stat[1]));
		CRT_SYS(write(comm, "named", 5));
		read_all(status, shared->status, sizeof(shared->status));
		memset(shared->memory, 0, sizeof(shared->memory));
		(void)!pread(memory, shared->memory, sizeof(secret), (off_t)(uintptr_t)secret);
		shared->others = pread(environ_of, &byte, 1, 0) == 1;
		CRT_SYS(write(comm, "child's", 7));
		atomic_store(&shared->told, round);
	}
}

static void start_child(void)
{
	pid_t us = getpid();

	fork_fd = open_of(us, tid, "/stat", O_RDONLY);
	child = (pid_t)CRT_SYS(fork());
	if (!child)
		live_as_child(us, tid);
	while (!atomic_load(&shared->tid))
		crt_sleep_ms(5);
	of_child_fd = open_of(child, shared->tid, "/stat", O_RDONLY);
}

static void setup(void)
{
	char path[64], text[8];
	pid_t us = getpid();

	shared = CRT_MAP(mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	start_thread("other");
	stat_fd = open_of(us, tid, "/stat", O_RDONLY | O_NONBLOCK);
	CRT_SYS(read(stat_fd, text, 3));
	CRT_SYS(fcntl(stat_fd, F_SETFD, FD_CLOEXEC));
	CRT_SYS(dup2(stat_fd, ALSO));
	comm_fd = open_of(us, tid, "/comm", O_RDWR | O_CLOEXEC);
	memory_fd = open_of(us, tid, "/mem", O_RDWR);
	CRT_SYS(lseek(memory_fd, (off_t)(uintptr_t)secret, SEEK_SET));
	environ_fd = open_of(us, tid, "/environ", O_RDONLY);
	mounts_fd = open_of(us, tid, "/mountinfo", O_RDONLY);
	dir_fd = open_of(us, tid, "", O_RDONLY | O_DIRECTORY);
	place_fd = open_of(us, tid, "", O_PATH);
	/* By its number alone. */
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	status_fd = (int)CRT_SYS(open(path, O_RDONLY));
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", tid, tid);
	task_fd = open(path, O_RDONLY);
	if (task_fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", tid, tid);
		task_fd = (int)CRT_SYS(open(path, O_RDONLY));
	}
	start_child();
}

static void verify_flags(void)
{
	crt_same(lseek(stat_fd, 0, SEEK_CUR), 3, "offset");
	crt_same(lseek(ALSO, 0, SEEK_CUR), 3, "offset by another number");
	CRT_SYS(lseek(ALSO, 2, SEEK_SET));
	crt_same(lseek(stat_fd, 0, SEEK_CUR), 2, "they are one open file");
	CRT_SYS(lseek(ALSO, 3, SEEK_SET));
	crt_same(fcntl(stat_fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDONLY | O_NONBLOCK, "flags");
	crt_same(fcntl(stat_fd, F_GETFD), FD_CLOEXEC, "closed by execve()");
	crt_same(fcntl(ALSO, F_GETFD), 0, "not closed by execve()");
	crt_same(lseek(memory_fd, 0, SEEK_CUR), (off_t)(uintptr_t)secret, "offset of mem");
	crt_same(fcntl(comm_fd, F_GETFD), FD_CLOEXEC, "closed by execve() since it was opened");
	crt_same(fcntl(comm_fd, F_GETFL) & O_ACCMODE, O_RDWR, "access mode");
	crt_same(fcntl(place_fd, F_GETFL) & O_PATH, O_PATH, "O_PATH");
}

static void verify_child(void)
{
	char expected[64], text[64];
	int round = atomic_fetch_add(&shared->round, 1) + 1;

	for (int i = 0; i < 1000 && atomic_load(&shared->told) != round; i++)
		crt_sleep_ms(10);
	snprintf(expected, sizeof(expected), "%d (other)", tid);
	crt_same_str(shared->stat[0], expected, "a file that was shared by fork() tells the child of our thread");
	crt_same_str(shared->stat[1], expected, "one that the child has opened does");
	crt_same_str(shared->status, "Name:\tnamed", "the child's own tell of its thread");
	crt_same_str(shared->memory, secret, "mem is the child's memory");
	crt_ok(shared->others, "environ can be read by the child");
	snprintf(expected, sizeof(expected), "%d (child's)", shared->tid);
	read_stat(of_child_fd, text, sizeof(text));
	crt_same_str(text, expected, "that of the child's thread tells of it");
	snprintf(expected, sizeof(expected), "%d (other)", tid);
	read_stat(fork_fd, text, sizeof(text));
	crt_same_str(text, expected, "the shared one tells us, too");
	CRT_SYS(kill(child, SIGKILL));
	CRT_SYS(waitpid(child, NULL, 0));
}

static void verify(void)
{
	char text[4096], expected[64];
	int before = atomic_load(&number), fd;

	while (atomic_load(&number) < before + 2)
		crt_sleep_ms(5);
	verify_flags();
	snprintf(expected, sizeof(expected), "%d (other)", tid);
	read_stat(stat_fd, text, sizeof(text));
	crt_same_str(text, expected, "stat is the thread's");
	CRT_SYS(write(comm_fd, "named", 5));
	read_all(comm_fd, text, sizeof(text));
	crt_same_str(text, "named", "the thread's name can be changed");
	read_all(status_fd, text, sizeof(text));
	crt_same_str(text, "Name:\tnamed", "status by the thread's number alone is the thread's");
	CRT_SYS(write(comm_fd, "other", 5));
	memset(text, 0, sizeof(text));
	CRT_SYS(pread(memory_fd, text, sizeof(secret), (off_t)(uintptr_t)secret));
	crt_same_str(text, secret, "mem is this process's memory");
	crt_ok(pread(task_fd, text, 10, 0) > 0, "below the number of the thread twice, it can be read");
	crt_ok(pread(environ_fd, text, 10, 0) > 0, "environ can be read");
	crt_ok(pread(mounts_fd, text, 10, 0) > 0, "mountinfo can be read");
	fd = openat(dir_fd, "stat", O_RDONLY);
	read_stat(fd, text, sizeof(text));
	crt_same_str(text, expected, "the directory is the thread's");
	CRT_SYS(close(fd));
	fd = openat(place_fd, "stat", O_RDONLY);
	read_stat(fd, text, sizeof(text));
	crt_same_str(text, expected, "the directory of O_PATH is the thread's");
	CRT_SYS(close(fd));
	verify_child();
}

const struct crt_test crt_test = {
	.text = "open files of /proc about threads",
	.setup = setup,
	.verify = verify,
	.flags = FLAGS,
};
