// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tree whose processes come and go, open and close, and send each other data all the time, and
 * count every result that is not what it should be.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct worker {
	const char *name;
	void (*run)(struct worker *w);
	pid_t pid;
	atomic_ulong rounds, interrupted, wrong;
};

static struct shared {
	atomic_bool end;
	struct worker worker[8];
} *shared;

/* -1 with EINTR is what a checkpoint must never cause. */
static bool good(struct worker *w, long rc)
{
	if (rc >= 0)
		return true;
	if (errno == EINTR)
		w->interrupted++;
	else
		w->wrong++;
	return false;
}

static void exited(struct worker *w, pid_t pid, int with)
{
	int status;

	if (good(w, waitpid(pid, &status, 0)))
		w->wrong += !WIFEXITED(status) || WEXITSTATUS(status) != with;
}

static unsigned int mix(unsigned int sum, unsigned int value)
{
	return (sum ^ value) * 2654435761U + 1;
}

static bool transfer(struct worker *w, int fd, void *data, size_t size, ssize_t (*call)(int, void *, size_t))
{
	for (size_t done = 0; done < size;) {
		ssize_t n = call(fd, (char *)data + done, size - done);

		if (!good(w, n) || n == 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static ssize_t write_call(int fd, void *data, size_t size)
{
	return write(fd, data, size);
}

/* The child's sum of what comes through the pipe is its exit status. */
static void feed(struct worker *w)
{
	unsigned int data[3000], sum = 0;
	int fds[2];
	pid_t pid;

	if (!good(w, pipe(fds)))
		return;
	pid = fork();
	if (!pid) {
		close(fds[1]);
		for (unsigned int value; transfer(w, fds[0], &value, sizeof(value), read);)
			sum = mix(sum, value);
		_exit((int)(sum >> 25));
	}
	close(fds[0]);
	for (unsigned int i = 0; i < 3000; i++) {
		data[i] = (unsigned int)w->rounds * 3000 + i;
		sum = mix(sum, data[i]);
	}
	w->wrong += !transfer(w, fds[1], data, sizeof(data), write_call);
	close(fds[1]);
	if (good(w, pid))
		exited(w, pid, (int)(sum >> 25));
}

/* Children of children, whose parents are gone, are this one's. */
static void orphans(struct worker *w)
{
	pid_t pid;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (!pid) {
		if (!fork()) {
			crt_sleep_ms(2);
			_exit(9);
		}
		_exit(8);
	}
	if (good(w, pid))
		exited(w, pid, 8);
	exited(w, -1, 9);
}

static void groups(struct worker *w)
{
	pid_t pid = fork();

	if (!pid) {
		if (w->rounds % 2)
			_exit(setsid() == getpid() && getsid(0) == getpid() ? 4 : 5);
		_exit(!setpgid(0, 0) && getpgrp() == getpid() ? 4 : 5);
	}
	if (good(w, pid))
		exited(w, pid, 4);
}

static void spawn(struct worker *w)
{
	char *args[] = { "true", NULL };
	pid_t pid;
	int err = posix_spawn(&pid, "/bin/true", NULL, NULL, args, environ);

	w->wrong += err != 0;
	if (!err)
		exited(w, pid, 0);
}

static void *give_back(void *arg)
{
	return arg;
}

static void threads(struct worker *w)
{
	pthread_t id[4];

	for (long i = 0; i < 4; i++)
		w->wrong += pthread_create(&id[i], NULL, give_back, (void *)i) != 0;
	for (long i = 0; i < 4; i++) {
		void *back = NULL;

		w->wrong += pthread_join(id[i], &back) != 0 || back != (void *)i;
	}
}

static void files(struct worker *w)
{
	const char *path = crt_path("scratch");
	unsigned int out[64], in[64];
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

	if (!good(w, fd))
		return;
	for (unsigned int i = 0; i < 64; i++)
		out[i] = mix((unsigned int)w->rounds, i);
	w->wrong += unlink(path) != 0;
	w->wrong += write(fd, out, sizeof(out)) != sizeof(out) || pread(fd, in, sizeof(in), 0) != sizeof(in);
	w->wrong += memcmp(in, out, sizeof(in)) != 0;
	close(fd);
}

/* Two that talk to each other, from the beginning to the end; the first one to go is who asks. */
static int pair[2];

static void ask(struct worker *w)
{
	unsigned int value = (unsigned int)w->rounds, back = 0;

	w->wrong += !transfer(w, pair[0], &value, sizeof(value), write_call) ||
		    !transfer(w, pair[0], &back, sizeof(back), read) || back != mix(value, 1);
}

static void answer(struct worker *w)
{
	unsigned int value;

	if (!transfer(w, pair[1], &value, sizeof(value), read))
		_exit(0);
	value = mix(value, 1);
	w->wrong += !transfer(w, pair[1], &value, sizeof(value), write_call);
}

static const struct worker workers[8] = {
	{ .name = "feed", .run = feed },       { .name = "orphans", .run = orphans },
	{ .name = "groups", .run = groups },   { .name = "spawn", .run = spawn },
	{ .name = "threads", .run = threads }, { .name = "files", .run = files },
	{ .name = "ask", .run = ask },	       { .name = "answer", .run = answer },
};

/* The socket stays open in all the others: who answers is told by who asks. */
static void work(struct worker *w)
{
	if (w->run == ask || w->run == answer)
		close(pair[w->run == ask]);
	else
		close(pair[0]), close(pair[1]);
	while (w->run == answer || !atomic_load(&shared->end)) {
		w->run(w);
		w->rounds++;
	}
	_exit(0);
}

static void setup(void)
{
	shared = CRT_MAP(mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	for (int i = 0; i < 8; i++) {
		struct worker *w = &shared->worker[i];

		memcpy(w, &workers[i], sizeof(*w));
		w->pid = (pid_t)CRT_SYS(fork());
		if (!w->pid) {
			w->pid = getpid();
			work(w);
		}
	}
	close(pair[0]);
	close(pair[1]);
}

static void verify(void)
{
	atomic_store(&shared->end, true);
	for (int i = 0; i < 8; i++) {
		struct worker *w = &shared->worker[i];
		int status = -1;

		crt_same(waitpid(w->pid, &status, 0), w->pid, "%s: is a child", w->name);
		crt_same(status, 0, "%s: exit status", w->name);
		crt_ok(w->rounds > 0, "%s: was busy (%lu rounds)", w->name, (unsigned long)w->rounds);
		crt_same((long long)w->interrupted, 0, "%s: no EINTR", w->name);
		crt_same((long long)w->wrong, 0, "%s: nothing wrong", w->name);
	}
	crt_same(waitpid(-1, NULL, WNOHANG), -1, "and there are no others");
}

const struct crt_test crt_test = {
	.text = "a tree of processes that come and go never notices",
	.setup = setup,
	.verify = verify,
	.timeout_s = 600,
};
