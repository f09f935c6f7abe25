// SPDX-License-Identifier: GPL-2.0-only
/*
 * One memory in several processes that are not threads of one another (CLONE_VM without CLONE_THREAD): with and
 * without signal handlers, descriptors and directory in common; a child of such a child, a sibling, one with
 * several threads; and two that share a memory which their parent has not.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include "thread_pointer.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLAIN, ALL, THREADS, THREAD, SIBLING, BELOW, FORKED, YOUNGER, MEMBERS };

#define STACK 98304
#define THREAD_POINTER 40960 /* in the stack's bytes: room for what is below (on ppc64le up to 32 KiB) and above it */

struct talk {
	atomic_int question, answer;
	atomic_long value;
};

/* FORKED and YOUNGER are not in our memory. */
static struct talk *talks;
static char *stacks;
static long word;
static pid_t pids[MEMBERS];
static pid_t tids[MEMBERS];

static int serve(void *arg);

static char *pointer_of(int member)
{
	return stacks + (size_t)member * STACK + THREAD_POINTER;
}

static long make(int member, int flags)
{
	char *tls = pointer_of(member);

	memcpy(tls, &tls, sizeof(tls));
	return clone(serve, stacks + (size_t)(member + 1) * STACK, flags | CLONE_VM | CLONE_SETTLS,
		     (void *)(long)member, NULL, tls, NULL);
}

static long blocked(void)
{
	unsigned long mask = 0;

	return syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8) ? -errno : (long)mask;
}

static long answer(int member, int what, long value)
{
	unsigned long mask;
	struct sigaction action = { .sa_handler = value ? SIG_IGN : SIG_DFL };

	switch (what) {
	case 'w':
		word = value;
		return 0;
	case 'r':
		return word;
	case 'm':
		return (long)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	case 'p':
		return syscall(SYS_getpid);
	case 'P':
		return syscall(SYS_getppid);
	case 't':
		return (char *)thread_pointer() == pointer_of(member);
	case 'b':
		mask = (unsigned long)value;
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
		return blocked();
	case 'B':
		return blocked();
	case 'h':
		return sigaction(SIGUSR2, &action, NULL);
	case 'H':
		return sigaction(SIGUSR2, NULL, &action) ? -1 : action.sa_handler == SIG_IGN;
	case 'i':
		return fcntl((int)value, F_GETFD) == -1 ? -errno : 0;
	case 'n':
		switch (value) {
		case THREAD:
			return make(THREAD, CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM);
		case BELOW:
			return make(BELOW, SIGURG);
		default:
			return make((int)value, CLONE_PARENT | SIGCHLD);
		}
	}
	return -1;
}

static int serve(void *arg)
{
	int member = (int)(long)arg;
	struct talk *t = &talks[member];
	struct timespec nap = { 0, 2000000 };
	int done = 0;

	for (;;) {
		while (atomic_load(&t->question) == done)
			syscall(SYS_nanosleep, &nap, NULL);
		done = atomic_load(&t->question);
		if ((done & 0xff) == 'e')
			syscall(SYS_exit_group, atomic_load(&t->value));
		atomic_store(&t->value, answer(member, done & 0xff, atomic_load(&t->value)));
		atomic_store(&t->answer, done);
	}
	return 0;
}

static void tell(int member, int what, long value)
{
	static int count;
	int question = ++count << 8 | what;

	atomic_store(&talks[member].value, value);
	atomic_store(&talks[member].question, question);
}

static long ask(int member, int what, long value)
{
	struct talk *t = &talks[member];

	tell(member, what, value);
	for (int i = 0; i < 5000 && atomic_load(&t->answer) != atomic_load(&t->question); i++)
		crt_sleep_ms(2);
	return atomic_load(&t->answer) == atomic_load(&t->question) ? atomic_load(&t->value) : -1000;
}

static void fork_one(void)
{
	pids[FORKED] = (pid_t)CRT_SYS(fork());
	if (!pids[FORKED])
		_exit(serve((void *)(long)FORKED));
	pids[YOUNGER] = (pid_t)ask(FORKED, 'n', YOUNGER);
}

static void setup(void)
{
	stacks = CRT_MAP(mmap(NULL, MEMBERS * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	talks = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	fork_one();
	pids[PLAIN] = (pid_t)CRT_SYS(make(PLAIN, SIGCHLD));
	pids[ALL] = (pid_t)CRT_SYS(make(ALL, CLONE_SIGHAND | CLONE_FILES | CLONE_FS | SIGCHLD));
	pids[THREADS] = (pid_t)CRT_SYS(make(THREADS, SIGCHLD));
	tids[THREAD] = (pid_t)ask(THREADS, 'n', THREAD);
	pids[THREAD] = pids[THREADS];
	pids[SIBLING] = (pid_t)ask(PLAIN, 'n', SIBLING);
	pids[BELOW] = (pid_t)ask(ALL, 'n', BELOW);
	for (int i = 0; i < MEMBERS; i++) {
		if (ask(i, 'p', 0) != pids[i])
			crt_die("process %d does not answer", i);
		ask(i, 'b', 1L << (20 + i));
	}
	ask(FORKED, 'w', 77);
	word = 5;
}

static void verify_each(int i)
{
	long address;

	crt_same(ask(i, 'p', 0), pids[i], "%d: pid", i);
	crt_same(ask(i, 'B', 0), 1L << (20 + i), "%d: blocked signals", i);
	crt_same(ask(i, 't', 0), i != FORKED, "%d: thread pointer", i);
	if (i >= FORKED)
		return;
	ask(i, 'w', 100 + i);
	crt_same(word, 100 + i, "%d: what it writes is there", i);
	word = 200 + i;
	crt_same(ask(i, 'r', 0), 200 + i, "%d: and it reads what we write", i);
	address = ask(i, 'm', 0);
	*(volatile char *)address = 1;
	crt_ok(!munmap((void *)address, 4096), "%d: memory that it maps is ours", i);
}

static void verify_tables(void)
{
	int fd = (int)CRT_SYS(open("/dev/null", O_RDONLY | O_CLOEXEC));

	crt_same(ask(ALL, 'i', fd), 0, "descriptors are shared");
	crt_same(ask(PLAIN, 'i', fd), -EBADF, "or not");
	CRT_SYS(close(fd));
	crt_same(ask(ALL, 'h', 1), 0, "a child ignores a signal");
	crt_same(answer(0, 'H', 0), 1, "and so do we, who share its handlers");
	crt_same(ask(PLAIN, 'H', 0), 0, "but not a child that does not");
	crt_same(ask(BELOW, 'H', 0), 0, "nor the child's child");
	crt_same(answer(0, 'h', 0), 0, "handled again");
	crt_same(ask(ALL, 'H', 0), 0, "there, too");
}

static void verify_end(int i, int option)
{
	int status = 0;

	tell(i, 'e', 40 + i);
	crt_same(waitpid(pids[i], &status, option), pids[i], "%d: ends", i);
	crt_ok(WIFEXITED(status) && WEXITSTATUS(status) == 40 + i, "%d: with its status (%#x)", i, status);
}

static void verify(void)
{
	word = 5;
	for (int i = 0; i < MEMBERS; i++)
		verify_each(i);
	crt_same(ask(FORKED, 'r', 0), 77, "another memory keeps its own");
	ask(YOUNGER, 'w', 78);
	crt_same(ask(FORKED, 'r', 0), 78, "which two children share");
	verify_tables();
	crt_same(ask(BELOW, 'P', 0), pids[ALL], "the parent of a child's child");
	crt_same(ask(YOUNGER, 'P', 0), getpid(), "the parent of a sibling");
	verify_end(PLAIN, 0);
	crt_same(ask(SIBLING, 'r', 0), word, "the others live on");
	verify_end(SIBLING, 0);
	verify_end(THREADS, 0);
	verify_end(FORKED, 0);
	crt_same(ask(YOUNGER, 'r', 0), 78, "without the one that made it");
	verify_end(YOUNGER, 0);
	crt_same(kill(pids[BELOW], SIGKILL), 0, "a child's child is killed");
	verify_end(ALL, 0);
}

#ifndef FLAGS
#define FLAGS 0
#endif

const struct crt_test crt_test = {
	.text = "memory that processes share without being threads",
	.setup = setup,
	.verify = verify,
	.flags = FLAGS,
};
