// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a parent is told of the end of a child, and a child of that of its parent: exit signals other than
 * SIGCHLD, which make wait() need __WCLONE; the parent-death signal; and orphans that go to a subreaper.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t usr1, silent, gone, middle;
static sigset_t signals;
static struct {
	atomic_int ready, told;
	pid_t orphan, orphan_parent;
} *shared;

/* A child that ends with @signal told to the parent; 0: none. */
static pid_t start(int signal)
{
	return (pid_t)CRT_SYS(syscall(SYS_clone, (long)signal, NULL, NULL, NULL, 0L));
}

static void rest(void)
{
	for (;;)
		pause();
}

static void on_death(int signal)
{
	shared->told = signal;
}

static void live_as_orphan(void)
{
	signal(SIGHUP, on_death);
	CRT_SYS(prctl(PR_SET_PDEATHSIG, SIGHUP));
	shared->orphan = getpid();
	shared->ready++;
	for (;;) {
		shared->orphan_parent = getppid();
		crt_sleep_ms(10);
	}
}

static void setup(void)
{
	shared = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGUSR2);
	CRT_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	middle = (pid_t)CRT_SYS(fork());
	if (!middle) {
		if (!fork())
			live_as_orphan();
		rest();
	}
	CRT_SYS(sigprocmask(SIG_BLOCK, &signals, NULL));
	usr1 = start(SIGUSR1);
	if (!usr1)
		rest();
	silent = start(0);
	if (!silent)
		rest();
	gone = start(SIGUSR2);
	if (!gone)
		_exit(42);
	CRT_SYS(waitid(P_PID, (id_t)gone, &(siginfo_t){ 0 }, WEXITED | WNOWAIT | __WCLONE));
	if (sigwaitinfo(&signals, NULL) != SIGUSR2)
		crt_die("the end of a child was not told");
	while (!shared->ready)
		crt_sleep_ms(10);
}

/* The signal that comes within half a second, or 0. */
static int next_signal(void)
{
	const struct timespec timeout = { .tv_nsec = 500000000 };
	int signal = sigtimedwait(&signals, NULL, &timeout);

	return signal < 0 ? 0 : signal;
}

static void check_child(pid_t pid, int signal, const char *what)
{
	int status = 0;

	crt_same(waitpid(pid, &status, WNOHANG | __WCLONE), 0, "%s: lives", what);
	crt_same(kill(pid, SIGKILL), 0, "%s: is killed", what);
	crt_same(next_signal(), signal, "%s: the signal that tells so", what);
	for (int i = 0; i < 1000 && waitpid(pid, &status, WNOHANG | __WCLONE) == 0; i++)
		crt_sleep_ms(10);
	crt_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%s: waited for", what);
}

static void verify(void)
{
	int status = 0;

	crt_same(next_signal(), 0, "nobody has told anything so far");
	errno = 0;
	crt_ok(waitpid(gone, &status, WNOHANG) == -1 && errno == ECHILD,
	       "one with another signal than SIGCHLD is waited for with __WCLONE only");
	crt_same(waitpid(gone, &status, WNOHANG | __WCLONE), gone, "one that had ended before");
	crt_ok(WIFEXITED(status) && WEXITSTATUS(status) == 42, "and its status");
	check_child(usr1, SIGUSR1, "a child with SIGUSR1");
	check_child(silent, 0, "a child without a signal");
	crt_same(shared->orphan_parent, middle, "parent of the grandchild");
	crt_same(shared->told, 0, "which has not been told that it died");
	crt_same(kill(middle, SIGKILL), 0, "it is killed");
	crt_same(waitpid(middle, NULL, 0), middle, "and waited for");
	crt_same(next_signal(), SIGCHLD, "which SIGCHLD told");
	for (int i = 0; i < 500 && (!shared->told || shared->orphan_parent == middle); i++)
		crt_sleep_ms(10);
	crt_same(shared->told, SIGHUP, "the grandchild has got its parent-death signal");
	crt_same(shared->orphan_parent, getpid(), "and is this process's, a subreaper");
	crt_same(kill(shared->orphan, SIGKILL), 0, "it is killed");
	crt_same(waitpid(shared->orphan, NULL, 0), shared->orphan, "and waited for");
}

const struct crt_test crt_test = {
	.text = "exit signals, parent-death signals and subreapers",
	.setup = setup,
	.verify = verify,
};
