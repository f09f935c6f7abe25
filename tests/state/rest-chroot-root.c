// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes and threads with root directories of their own (chroot(2)): nested ones, with a working directory and open files
 * outside, with a socket that has a name inside, and threads of one process with several. Nothing that the tools need is in there.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INSIDE, NESTED, ESCAPED, AS_USER, SHARED, SHARER, CHILDREN };

static const char *const names[CHILDREN] = {
	"in a root directory", "in one inside of that", "with a working directory outside of it", "with an ordinary user's ids",
	"that another one shares (CLONE_FS)", "that shares it",
};

struct answer {
	char root[64];				/* what the mark in its root directory says */
	char cwd[128];
	char outside[64];			/* read from a file that was opened before */
	char mapped;
	char socket[108];
	int getcwd_error;
};

static struct child {
	pid_t pid;
	int ask[2], answer[2];			/* pipes */
	struct answer before;
} child[CHILDREN];

static int before_fd, socket_fd = -1;
static const char *before_map;

static void write_mark(const char *directory, const char *text)
{
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/mark", directory);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		crt_die("%s: %s", path, strerror(errno));
}

static void read_mark(char *text, size_t size)
{
	int fd = open("/mark", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	text[n < 0 ? 0 : n] = 0;
	if (fd >= 0)
		close(fd);
}

static void look(struct answer *a)
{
	struct sockaddr_un address = {};
	socklen_t size = sizeof(address);

	memset(a, 0, sizeof(*a));
	read_mark(a->root, sizeof(a->root));
	a->getcwd_error = getcwd(a->cwd, sizeof(a->cwd)) ? 0 : errno;
	if (a->getcwd_error)
		a->cwd[0] = 0;
	if (pread(before_fd, a->outside, sizeof(a->outside) - 1, 0) < 0)
		strcpy(a->outside, strerror(errno));
	a->mapped = before_map[0];
	if (socket_fd >= 0 && !getsockname(socket_fd, (struct sockaddr *)&address, &size))
		memcpy(a->socket, address.sun_path, sizeof(a->socket));
}

static void enter(const char *root)
{
	CRT_SYS(chroot(root));
	CRT_SYS(chdir("/"));
}

static void bind_inside(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/socket" };

	socket_fd = (int)CRT_SYS(socket(AF_UNIX, SOCK_STREAM, 0));
	CRT_SYS(bind(socket_fd, (struct sockaddr *)&address, sizeof(address)));
	CRT_SYS(listen(socket_fd, 1));
}

static void become(int who)
{
	switch (who) {
	case INSIDE:
		enter(crt_path("outer"));
		bind_inside();
		break;
	case NESTED:
		enter(crt_path("outer"));
		enter("/inner");
		break;
	case ESCAPED:
		CRT_SYS(chroot(crt_path("other")));
		break;
	case AS_USER:
		enter(crt_path("outer"));
		CRT_SYS(setgid(1000));
		CRT_SYS(setuid(1000));
		break;
	case SHARED:
		enter(crt_path("other"));
		break;
	}
}

static int live(void *arg)
{
	struct child *c = arg;
	struct answer a;
	char byte;

	CRT_SYS(prctl(PR_SET_PDEATHSIG, SIGKILL));
	while (read(c->ask[0], &byte, 1) == 1) {
		look(&a);
		if (write(c->answer[1], &a, sizeof(a)) != sizeof(a))
			break;
	}
	_exit(0);
}

static void start(int who)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct child *c = &child[who];

	/* The one that shares is made by the one with which it does. */
	if (who == SHARER)
		c->pid = (pid_t)CRT_SYS(clone(live, stack + sizeof(stack), CLONE_FS | SIGCHLD, c));
	else
		c->pid = (pid_t)CRT_SYS(fork());
	if (!c->pid) {
		become(who);
		if (who == SHARED)
			start(SHARER);
		live(c);
	}
}

static struct answer ask(int who)
{
	struct answer a = {};

	if (write(child[who].ask[1], "?", 1) != 1 || read(child[who].answer[0], &a, sizeof(a)) != sizeof(a))
		crt_die("process %s does not answer", names[who]);
	return a;
}

static struct {
	pthread_t id;
	atomic_int asked, answered;
	char root[64];
} thread[2];
static atomic_int ready;

static void *live_thread(void *arg)
{
	int who = (int)(long)arg;

	CRT_SYS(unshare(CLONE_FS));
	CRT_SYS(chroot(crt_path(who ? "other" : "outer")));
	ready++;
	for (;;) {
		while (thread[who].asked == thread[who].answered)
			crt_sleep_ms(10);
		read_mark(thread[who].root, sizeof(thread[who].root));
		thread[who].answered++;
	}
	return NULL;
}

static const char *root_of_thread(int who)
{
	thread[who].asked++;
	while (thread[who].asked != thread[who].answered)
		crt_sleep_ms(10);
	return thread[who].root;
}

static void setup(void)
{
	CRT_SYS(chmod(crt_dir(), 0755));
	CRT_SYS(mkdir(crt_path("outer"), 0755));
	CRT_SYS(mkdir(crt_path("outer/inner"), 0755));
	CRT_SYS(mkdir(crt_path("other"), 0755));
	write_mark(crt_dir(), "outside");
	write_mark(crt_path("outer"), "outer");
	write_mark(crt_path("outer/inner"), "inner");
	write_mark(crt_path("other"), "other");
	CRT_SYS(chdir(crt_dir()));
	before_fd = (int)CRT_SYS(open("mark", O_RDONLY));
	before_map = CRT_MAP(mmap(NULL, crt_page(), PROT_READ, MAP_PRIVATE, before_fd, 0));
	for (int i = 0; i < CHILDREN; i++) {
		CRT_SYS(pipe(child[i].ask));
		CRT_SYS(pipe(child[i].answer));
	}
	for (int i = 0; i < CHILDREN; i++)
		if (i != SHARER)
			start(i);
	for (long i = 0; i < 2; i++)
		CRT_SYS(-pthread_create(&thread[i].id, NULL, live_thread, (void *)i));
	while (ready < 2)
		crt_sleep_ms(10);
	for (int i = 0; i < CHILDREN; i++)
		child[i].before = ask(i);
}

static void verify(void)
{
	static const char *const roots[CHILDREN] = { "outer", "inner", "other", "outer", "other", "other" };
	char text[64];

	for (int i = 0; i < CHILDREN; i++) {
		struct answer now = ask(i);

		crt_same_str(now.root, roots[i], "root directory of a process %s", names[i]);
		crt_same_str(now.cwd, child[i].before.cwd, "its working directory");
		crt_same(now.getcwd_error, child[i].before.getcwd_error, "what getcwd() says");
		crt_same_str(now.outside, "outside", "a file that was opened before");
		crt_same(now.mapped, 'o', "and is mapped");
		crt_same_str(now.socket, i == INSIDE ? "/socket" : "", "name of its socket");
	}
	crt_same_str(root_of_thread(0), "outer", "root directory of a thread");
	crt_same_str(root_of_thread(1), "other", "of another one");
	read_mark(text, sizeof(text));
	crt_same_str(text, "", "the process itself has the usual one");
}

const struct crt_test crt_test = {
	.text = "processes and threads keep root directories of their own",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
