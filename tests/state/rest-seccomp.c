// SPDX-License-Identifier: GPL-2.0-only
/*
 * Seccomp filters: one for all threads, one more of a single thread, and one that forbids what a restart itself
 * has to do.  In the case "strict", a thread in strict mode.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static pthread_t thread;
static pid_t tid;
static atomic_int ready, own_errno, general_errno, done;
static int ends[2];

/* @nr fails with @error; all else is as the other filters have it. */
static void forbid(long nr, int error, unsigned int flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__u32)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	CRT_SYS(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

static void *own_filter(void *arg)
{
	struct utsname name;

	(void)arg;
	forbid(SYS_uname, ENOTTY, 0);
	tid = gettid();
	ready = 1;
	while (!crt_go())
		crt_sleep_ms(20);
	errno = 0;
	own_errno = syscall(SYS_uname, &name) ? errno : 0;
	errno = 0;
	general_errno = syscall(SYS_sysinfo, NULL) ? errno : 0;
	done = 1;
	return NULL;
}

/* What libc may do at the end of a thread is not allowed: it ends by itself, with the last read. */
static void *strict_thread(void *arg)
{
	char byte = 0;

	(void)arg;
	tid = gettid();
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	ready = 1;
	while (syscall(SYS_read, ends[0], &byte, 1) != 1)
		;
	general_errno = byte;
	done = 1;
	for (;;)
		syscall(SYS_read, ends[0], &byte, 1);
	return NULL;
}

static void setup(void)
{
	bool strict = crt_case && !strcmp(crt_case, "strict");

	CRT_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CRT_SYS(pipe(ends));
	CRT_SYS(-pthread_create(&thread, NULL, strict ? strict_thread : own_filter, NULL));
	while (!ready)
		crt_sleep_ms(10);
	if (strict)
		return;
	/* The threads have to agree for TSYNC: that one has its own. */
	forbid(SYS_sysinfo, EXDEV, SECCOMP_FILTER_FLAG_LOG);
	forbid(SYS_ioctl, ENOSTR, 0);
	forbid(SYS_munmap, ENODATA, 0);
	forbid(SYS_setrlimit, ENOSYS, 0);
	forbid(SYS_futex, EDOM, 0);
}

static void thread_status(char *buf, size_t size)
{
	char path[64], text[8192], *field;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	crt_slurp(path, text, sizeof(text));
	field = strstr(text, "\nSeccomp:");
	snprintf(buf, size, "%.*s", field ? (int)strcspn(field + 10, "\n") : 0, field ? field + 10 : "");
}

static void verify_strict(void)
{
	char mode[64];

	thread_status(mode, sizeof(mode));
	crt_same_str(mode, "1", "a thread in strict mode");
	CRT_SYS(write(ends[1], "r", 1));
	for (int i = 0; i < 200 && !done; i++)
		crt_sleep_ms(20);
	crt_same(general_errno, 'r', "may read");
}

static void verify(void)
{
	char value[64];

	if (crt_case && !strcmp(crt_case, "strict")) {
		verify_strict();
		return;
	}
	for (int i = 0; i < 200 && !done; i++)
		crt_sleep_ms(20);
	crt_same(own_errno, ENOTTY, "a thread's own filter");
	crt_same(general_errno, EFAULT, "which does not have the others'");
	errno = 0;
	crt_ok(syscall(SYS_sysinfo, NULL) == -1 && errno == EXDEV, "the first filter of the main thread");
	errno = 0;
	crt_ok(syscall(SYS_ioctl, 0, 0, 0) == -1 && errno == ENOSTR, "one that forbids ioctl()");
	errno = 0;
	crt_ok(syscall(SYS_munmap, 0, 0) == -1 && errno == ENODATA, "and munmap()");
	errno = 0;
	crt_ok(syscall(SYS_futex, 0, 0, 0, 0) == -1 && errno == EDOM, "and futex()");
	crt_ok(crt_status("Seccomp", value, sizeof(value)), "the mode is told");
	crt_same_str(value, "2", "it is that of filters");
	if (crt_status("Seccomp_filters", value, sizeof(value)))
		crt_same_str(value, "5", "all of them");
}

const struct crt_test crt_test = {
	.text = "seccomp filters and strict mode",
	.setup = setup,
	.verify = verify,
	.cases = "strict",
};
