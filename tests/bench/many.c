// SPDX-License-Identifier: GPL-2.0-only
/*
 * many.c - a job with many of one thing: many KIND COUNT DIR
 *
 * KIND is threads, processes, descriptors or areas. When all are there it makes the file
 * DIR/ready, and waits for DIR/go; asked by DIR/ask meanwhile, it makes DIR/answer. Then it looks at each, and makes DIR/good, or says on standard
 * error what is wrong, and ends with 1.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *dir;

static void die(const char *what)
{
	fprintf(stderr, "many: %s: %s\n", what, strerror(errno));
	exit(1);
}

static const char *path(const char *name)
{
	static char buf[4096];

	snprintf(buf, sizeof(buf), "%s/%s", dir, name);
	return buf;
}

static void make_file(const char *name)
{
	int fd = open(path(name), O_WRONLY | O_CREAT, 0644);

	if (fd < 0 || close(fd))
		die(path(name));
}

static void wait_for_go(void)
{
	make_file("ready");
	while (access(path("go"), F_OK)) {
		if (!access(path("ask"), F_OK) && access(path("answer"), F_OK))
			make_file("answer");
		usleep(10000);
	}
}

static void bad(const char *what, long which)
{
	fprintf(stderr, "many: %s %ld is not what it was\n", what, which);
	exit(1);
}

/* ---- threads: each has a value of its own on its stack ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static long there, right;
static bool over;

static void *thread(void *arg)
{
	volatile long mine = (long)arg * 7;

	pthread_mutex_lock(&lock);
	there++;
	while (!over)
		pthread_cond_wait(&turn, &lock);
	right += mine == (long)arg * 7;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void many_threads(long count)
{
	pthread_t *ids = calloc(count, sizeof(*ids));
	pthread_attr_t attr;
	long here = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	for (long i = 0; i < count; i++)
		if ((errno = pthread_create(&ids[i], &attr, thread, (void *)i)))
			die("pthread_create");
	while (here < count) {
		usleep(10000);
		pthread_mutex_lock(&lock);
		here = there;
		pthread_mutex_unlock(&lock);
	}
	wait_for_go();
	pthread_mutex_lock(&lock);
	over = true;
	pthread_cond_broadcast(&turn);
	pthread_mutex_unlock(&lock);
	for (long i = 0; i < count; i++)
		pthread_join(ids[i], NULL);
	if (right != count)
		bad("number of threads", right);
	free(ids);
}

/* ---- processes: two levels, 50 to each parent; each has a status that its parent waits for ---- */

static volatile sig_atomic_t told;

static void on_term(int sig)
{
	(void)sig;
	told = 1;
}

/* Until SIGTERM, which is blocked except here. */
static void wait_told(void)
{
	sigset_t none;

	sigemptyset(&none);
	while (!told)
		sigsuspend(&none);
}

static void reap(pid_t *children, long n)
{
	int status;

	for (long i = 0; i < n; i++) {
		if (kill(children[i], SIGTERM) || waitpid(children[i], &status, 0) != children[i])
			die("waitpid");
		if (!WIFEXITED(status) || WEXITSTATUS(status) != i % 100)
			bad("child", i);
	}
}

static void leaf(long i, int ready)
{
	if (write(ready, "r", 1) != 1)
		_exit(255);
	wait_told();
	_exit(i % 100);
}

/* A process with @n children. */
static void branch(long i, long n, int ready)
{
	pid_t children[64];

	for (long k = 0; k < n; k++) {
		children[k] = fork();
		if (children[k] < 0)
			die("fork");
		if (!children[k])
			leaf(k, ready);
	}
	if (write(ready, "r", 1) != 1)
		_exit(255);
	wait_told();
	reap(children, n);
	_exit(i % 100);
}

static void many_processes(long count)
{
	long branches = (count - 1 + 49) / 50, left = count - 1;
	pid_t *children = calloc(branches, sizeof(*children));
	int ready[2];
	sigset_t term;
	char byte;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	signal(SIGTERM, on_term);
	if (pipe(ready))
		die("pipe");
	for (long i = 0; i < branches; i++) {
		long n = left >= 50 ? 49 : left - 1;

		left -= n + 1;
		children[i] = fork();
		if (children[i] < 0)
			die("fork");
		if (!children[i])
			branch(i, n, ready[1]);
	}
	for (long i = 0; i < count - 1; i++)
		if (read(ready[0], &byte, 1) != 1)
			die("read");
	wait_for_go();
	reap(children, branches);
	free(children);
}

/* ---- descriptors: files, each at a position of its own ---- */

static void many_descriptors(long count)
{
	struct rlimit limit = { .rlim_cur = count + 64, .rlim_max = count + 64 };
	int *fds = calloc(count, sizeof(*fds));
	char name[64];

	if (setrlimit(RLIMIT_NOFILE, &limit))
		die("RLIMIT_NOFILE");
	for (long i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "file%ld", i % 1000);
		fds[i] = open(path(name), O_RDWR | O_CREAT, 0644);
		if (fds[i] < 0 || lseek(fds[i], i, SEEK_SET) != i)
			die(path(name));
	}
	wait_for_go();
	for (long i = 0; i < count; i++)
		if (lseek(fds[i], 0, SEEK_CUR) != i)
			bad("descriptor", fds[i]);
	free(fds);
}

/* ---- areas: neighbours differ in protection, so that none is merged ---- */

static void many_areas(long count)
{
	size_t size = (size_t)count * 4096;
	char *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED)
		die("mmap");
	for (long i = 0; i < count; i++) {
		*(long *)(base + i * 4096) = i * 7 + 1;
		if (i % 2 && mprotect(base + i * 4096, 4096, PROT_READ))
			die("mprotect");
	}
	wait_for_go();
	for (long i = 0; i < count; i++)
		if (*(long *)(base + i * 4096) != i * 7 + 1)
			bad("area", i);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(long count);
	} kinds[] = {
		{ "threads", many_threads },
		{ "processes", many_processes },
		{ "descriptors", many_descriptors },
		{ "areas", many_areas },
	};
	long count = argc == 4 ? atol(argv[2]) : 0;

	for (size_t i = 0; count > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		dir = argv[3];
		kinds[i].run(count);
		make_file("good");
		return 0;
	}
	fprintf(stderr, "usage: many threads|processes|descriptors|areas COUNT DIR\n");
	return 2;
}
