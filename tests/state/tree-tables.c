// SPDX-License-Identifier: GPL-2.0-only
/*
 * One descriptor table, and one working directory with a umask, in several processes (CLONE_FILES, CLONE_FS):
 * what one of them does to it the others find.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child does what is asked; it has no descriptor of its own to be asked by. */
struct talk {
	atomic_int question, answer;
	atomic_int value;
};

static struct talk *talks;
enum { FILES, FS, BOTH, CHILDREN };
static pid_t children[CHILDREN];
static int locked;

static int lock_state(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	CRT_SYS(fcntl(locked, F_GETLK, &lock));
	return lock.l_type;
}

static int serve(int what, int value)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	mode_t mask;

	switch (what) {
	case 'o':
		return open(crt_path("made"), O_RDWR | O_CREAT, 0644);
	case 'i':
		return fcntl(value, F_GETFD) == -1 ? -errno : fcntl(value, F_GETFD);
	case 'l':
		return lock_state();
	case 'L':
		return fcntl(locked, F_SETLK, &lock);
	case 'd':
		return chdir(crt_path("other"));
	case 'u':
		mask = umask((mode_t)value);
		return (int)mask;
	}
	return -1;
}

static void *serve_all(void *arg)
{
	struct talk *t = arg;
	int done = 0;

	for (;;) {
		while (atomic_load(&t->question) == done)
			crt_sleep_ms(2);
		done = atomic_load(&t->question);
		atomic_store(&t->value, serve(done & 0xff, atomic_load(&t->value)));
		atomic_store(&t->answer, done);
	}
	return NULL;
}

static int ask(int child, int what, int value)
{
	static int count;
	struct talk *t = &talks[child];
	int question = ++count << 8 | what;

	atomic_store(&t->value, value);
	atomic_store(&t->question, question);
	for (int i = 0; i < 5000 && atomic_load(&t->answer) != question; i++)
		crt_sleep_ms(2);
	return atomic_load(&t->answer) == question ? atomic_load(&t->value) : -1000;
}

/* As fork(), with @flags. One thread of the child only waits. */
static pid_t spawn(int child, int flags)
{
	pid_t pid = (pid_t)CRT_SYS(syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0));
	pthread_t thread;

	if (pid)
		return pid;
	if (pthread_create(&thread, NULL, serve_all, &talks[child]))
		_exit(1);
	for (;;)
		pause();
}

static void setup(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	talks = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	CRT_SYS(mkdir(crt_path("here"), 0755));
	CRT_SYS(mkdir(crt_path("other"), 0755));
	locked = (int)CRT_SYS(open(crt_path("locked"), O_RDWR | O_CREAT, 0644));
	CRT_SYS(fcntl(locked, F_SETLK, &lock));
	children[FILES] = spawn(FILES, CLONE_FILES);
	children[FS] = spawn(FS, CLONE_FS);
	children[BOTH] = spawn(BOTH, CLONE_FILES | CLONE_FS);
	CRT_SYS(chdir(crt_path("here")));
	umask(0027);
	for (int i = 0; i < CHILDREN; i++)
		if (ask(i, 'i', locked))
			crt_die("child %d does not answer", i);
}

static bool is_here(const char *name)
{
	char cwd[4096];

	return getcwd(cwd, sizeof(cwd)) && !strcmp(cwd, crt_path(name));
}

static void verify_files(void)
{
	int fd;

	crt_same(ask(FS, 'l', 0), F_WRLCK, "a lock of the table is held");
	crt_same(ask(FILES, 'L', 0), 0, "by all who share it");
	fd = ask(FILES, 'o', 0);
	crt_ok(fd >= 0 && !fcntl(fd, F_GETFD), "what a child opens, the parent has (%d)", fd);
	crt_same(ask(BOTH, 'i', fd), 0, "and the other child");
	crt_same(ask(FS, 'i', fd), -EBADF, "but not who has a table of its own");
	CRT_SYS(fcntl(fd, F_SETFD, FD_CLOEXEC));
	crt_same(ask(FILES, 'i', fd), FD_CLOEXEC, "a flag that the parent sets, the child sees");
	close(fd);
	crt_same(ask(BOTH, 'i', fd), -EBADF, "what the parent closes, no child has");
	unlink(crt_path("made"));
}

static void verify_fs(void)
{
	crt_ok(is_here("here"), "working directory");
	crt_same(ask(FS, 'u', 0077), 0027, "the child's umask");
	crt_same(umask(0027), 0077, "is the parent's");
	crt_same(ask(FILES, 'u', 0), 0022, "a child without CLONE_FS has its own");
	ask(FILES, 'u', 0022);
	crt_same(ask(BOTH, 'd', 0), 0, "a child changes the directory");
	crt_ok(is_here("other"), "for the parent, too");
	CRT_SYS(chdir(crt_path("here")));
}

static void verify(void)
{
	int status = 0;

	verify_files();
	verify_fs();
	for (int i = 0; i < CHILDREN; i++) {
		CRT_SYS(kill(children[i], SIGTERM));
		crt_same(waitpid(children[i], &status, 0), children[i], "child %d ends", i);
	}
}

const struct crt_test crt_test = {
	.text = "descriptor tables and working directories that processes share",
	.setup = setup,
	.verify = verify,
};
