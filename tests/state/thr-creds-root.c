// SPDX-License-Identifier: GPL-2.0-only
/* Threads with credentials of their own: ids, groups, capabilities, securebits, which system calls give to one thread alone. */
#define _GNU_SOURCE
#include "crtest.h"
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const lines[] = { "Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };

#define LINES		(sizeof(lines) / sizeof(lines[0]))
#define THREADS		6

struct state {
	char text[LINES][256];
	int securebits;
};

static struct state before[THREADS + 1], now[THREADS + 1];
static pthread_barrier_t ready;
static pthread_t ids[THREADS];

static void look(struct state *to)
{
	char path[64], status[8192], *at;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", gettid());
	crt_slurp(path, status, sizeof(status));
	for (size_t i = 0; i < LINES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "\n%s:", lines[i]);
		at = strstr(status, name);
		if (!at)
			crt_die("no %s", lines[i]);
		at += strlen(name);
		snprintf(to->text[i], sizeof(to->text[i]), "%.*s", (int)strcspn(at, "\n"), at);
	}
	to->securebits = (int)CRT_SYS(prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
}

static void drop(unsigned int cap)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	CRT_SYS(syscall(SYS_capget, &head, data));
	data[0].effective &= ~(1u << cap);
	data[0].permitted &= ~(1u << cap);
	data[0].inheritable |= 1u << CAP_KILL;
	CRT_SYS(syscall(SYS_capset, &head, data));
	CRT_SYS(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0));
}

/* As system calls without the library, which would have all threads do it. */
static void become(long n)
{
	static const gid_t groups[] = { 7, 4711 };

	switch (n) {
	case 0:
		CRT_SYS(syscall(SYS_setresgid, 11, 12, 13));
		CRT_SYS(syscall(SYS_setresuid, 1001, 1002, 1003));
		break;
	case 1:
		setfsuid(2000);
		setfsgid(2001);
		break;
	case 2:
		drop(CAP_SYS_BOOT);
		break;
	case 3:
		CRT_SYS(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
		CRT_SYS(syscall(SYS_setgroups, 2, groups));
		CRT_SYS(syscall(SYS_setresuid, 3000, 3000, 3000));
		break;
	case 4:
		CRT_SYS(prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP | SECBIT_NOROOT, 0, 0, 0));
		CRT_SYS(prctl(PR_CAPBSET_DROP, CAP_SYS_TIME, 0, 0, 0));
		break;
	}
}

static void *thread(void *arg)
{
	long n = (long)arg;

	become(n);
	look(&before[n]);
	pthread_barrier_wait(&ready);
	while (!crt_go())
		crt_sleep_ms(20);
	look(&now[n]);
	return NULL;
}

static void setup(void)
{
	pthread_barrier_init(&ready, NULL, THREADS + 1);
	for (long i = 0; i < THREADS; i++)
		CRT_SYS(-pthread_create(&ids[i], NULL, thread, (void *)i));
	pthread_barrier_wait(&ready);
	CRT_SYS(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	look(&before[THREADS]);
}

static void verify(void)
{
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	look(&now[THREADS]);
	for (int i = 0; i <= THREADS; i++) {
		for (size_t line = 0; line < LINES; line++)
			crt_same_str(now[i].text[line], before[i].text[line], "thread %d: %s", i, lines[line]);
		crt_same(now[i].securebits, before[i].securebits, "thread %d: securebits", i);
	}
	crt_same(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 1, "dumpable");
}

const struct crt_test crt_test = {
	.text = "credentials of threads",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
