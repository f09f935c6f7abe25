// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that have the very same seccomp filters: what one of them installs for all (SECCOMP_FILTER_FLAG_TSYNC) takes
 * that each other one has a part of its own. In the case "apart" one has another filter, and is in the way; in "nested"
 * they have more and more of the same, of which some came by TSYNC. In "pid-namespace" they are in one.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define THREADS 4

static atomic_int begun;
static pid_t tids[THREADS];
static bool apart, nested;

/* What is forbidden to whom: @nr fails with @error. */
static long forbid(long nr, int error, unsigned int flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__u32)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static const long calls[THREADS] = { SYS_sysinfo, SYS_uname, SYS_getpriority, SYS_getrusage };
static atomic_int ask, answered[THREADS], seen[THREADS];

/* One bit for each call that fails with the error of its filter. */
static int forbidden(void)
{
	int bits = 0;

	for (int i = 0; i < THREADS; i++)
		bits |= syscall(calls[i], -1, 0) == -1 && errno == EXDEV + i ? 1 << i : 0;
	return bits;
}

static void *live(void *arg)
{
	long who = (long)arg;

	tids[who] = (pid_t)syscall(SYS_gettid);
	if (apart && who == 1)
		CRT_SYS(forbid(calls[1], EXDEV + 1, 0));
	begun++;
	for (int round = 0;; crt_sleep_ms(5)) {
		if (round == ask)
			continue;
		round = ask;
		seen[who] = forbidden();
		answered[who] = round;
	}
	return NULL;
}

static void start(long who)
{
	pthread_t id;
	int before = begun;

	CRT_SYS(-pthread_create(&id, NULL, live, (void *)who));
	while (begun == before)
		crt_sleep_ms(5);
}

static void make_threads(void)
{
	CRT_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CRT_SYS(forbid(calls[0], EXDEV, 0));
	start(1);
	if (nested) {
		/* The first one gets this from the second; the others from both. */
		CRT_SYS(forbid(calls[1], EXDEV + 1, SECCOMP_FILTER_FLAG_TSYNC));
		start(2);
		CRT_SYS(forbid(calls[2], EXDEV + 2, 0));
	} else {
		start(2);
	}
	start(3);
}

static bool all_see(int first, int second, int third)
{
	const int wanted[THREADS] = { 0, first, second, third };
	bool good = true;

	ask++;
	for (int i = 1; i < THREADS; i++) {
		for (int wait = 0; answered[i] != ask && wait < 1000; wait++)
			crt_sleep_ms(5);
		if (answered[i] == ask && seen[i] == wanted[i])
			continue;
		crt_diag("thread %d: %#x, of %#x", i, seen[i], wanted[i]);
		good = false;
	}
	return good;
}

static void verify_here(void)
{
	int common = nested ? 0x3 : 0x1;

	crt_ok(all_see(apart ? common | 2 : common, common, nested ? 0x7 : common), "each thread has its filters");
	crt_same(forbidden(), nested ? 0x7 : 0x1, "and the main thread");
	crt_same(forbid(calls[3], EXDEV + 3, SECCOMP_FILTER_FLAG_TSYNC), apart ? tids[1] : 0,
		 apart ? "one that has another filter is in the way of another one for all" : "another one for all is possible");
	if (apart)
		crt_ok(all_see(0x3, 0x1, 0x1), "and nobody has got it");
	else if (nested)
		crt_ok(all_see(0xf, 0xf, 0xf), "they have got it, and what they had not before");
	else
		crt_ok(all_see(0x9, 0x9, 0x9), "they have got it");
}

/* ---- in a pid namespace, for whom the test only asks ---- */

static struct {
	atomic_int ready, ask, answer;
} *shared;

static bool good_here(void)
{
	return all_see(0x1, 0x1, 0x1) && forbid(calls[3], EXDEV + 3, SECCOMP_FILTER_FLAG_TSYNC) == 0 && all_see(0x9, 0x9, 0x9);
}

static pid_t child;

static void start_inside(void)
{
	shared = CRT_MAP(mmap(NULL, crt_page(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	crt_unshare_users(CLONE_NEWPID);
	child = (pid_t)CRT_SYS(fork());
	if (child) {
		while (!shared->ready)
			crt_sleep_ms(10);
		return;
	}
	make_threads();
	shared->ready = 1;
	while (!shared->ask)
		crt_sleep_ms(10);
	shared->answer = good_here() ? 1 : -1;
	for (;;)
		pause();
}

static void setup(void)
{
	apart = crt_case && !strcmp(crt_case, "apart");
	nested = crt_case && !strcmp(crt_case, "nested");
	if (crt_case && !strcmp(crt_case, "pid-namespace"))
		start_inside();
	else
		make_threads();
}

static void verify(void)
{
	if (!child) {
		verify_here();
		return;
	}
	shared->ask = 1;
	for (int wait = 0; wait < 1000 && !shared->answer; wait++)
		crt_sleep_ms(10);
	crt_same(shared->answer, 1, "in a pid namespace");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

const struct crt_test crt_test = {
	.text = "seccomp filters that threads share",
	.setup = setup,
	.verify = verify,
	.cases = "apart nested pid-namespace",
};
