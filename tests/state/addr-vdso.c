// SPDX-License-Identifier: GPL-2.0-only
/* The vdso is where it was, and what it tells is true. */
#define _GNU_SOURCE
#include "crtest.h"
#include <sched.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static unsigned long vdso_before;
static unsigned char image[64];
static int64_t mono_before;

static int64_t raw(clockid_t clock)
{
	struct timespec ts;

	CRT_SYS(syscall(SYS_clock_gettime, clock, &ts));
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static int64_t vdso(clockid_t clock)
{
	struct timespec ts;

	CRT_SYS(clock_gettime(clock, &ts));
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void setup(void)
{
	vdso_before = getauxval(AT_SYSINFO_EHDR);
	if (!vdso_before)
		crt_skip("no vdso");
	__builtin_memcpy(image, (void *)vdso_before, sizeof(image));
	mono_before = vdso(CLOCK_MONOTONIC);
}

static void agrees(clockid_t clock, const char *name)
{
	int wrong = 0;

	/* between two system calls, or within a tick of them for the coarse ones */
	for (int i = 0; i < 200; i++) {
		int64_t a = raw(clock), v = vdso(clock), b = raw(clock);

		wrong += v < a - 20000000 || v > b + 20000000;
	}
	crt_same(wrong, 0, "%s by the vdso agrees with the system call", name);
}

static void verify(void)
{
	int64_t first, later;
	struct timeval tv;
	unsigned int cpu = ~0U;

	crt_same((long long)getauxval(AT_SYSINFO_EHDR), (long long)vdso_before, "AT_SYSINFO_EHDR");
	crt_ok(!__builtin_memcmp(image, (void *)vdso_before, sizeof(image)), "its ELF header is there");
	agrees(CLOCK_REALTIME, "CLOCK_REALTIME");
	agrees(CLOCK_MONOTONIC, "CLOCK_MONOTONIC");
	agrees(CLOCK_REALTIME_COARSE, "CLOCK_REALTIME_COARSE");
	agrees(CLOCK_BOOTTIME, "CLOCK_BOOTTIME");
	first = vdso(CLOCK_MONOTONIC);
	crt_ok(first > mono_before, "time has gone on since the start");
	crt_sleep_ms(50);
	later = vdso(CLOCK_MONOTONIC);
	crt_ok(later - first >= 50000000 && later - first < 5000000000LL, "and goes on: 50 ms were %lld us",
	       (long long)(later - first) / 1000);
	gettimeofday(&tv, NULL);
	crt_ok(time(NULL) - tv.tv_sec < 2, "time() and gettimeofday() agree");
	getcpu(&cpu, NULL);
	crt_ok(cpu < (unsigned int)sysconf(_SC_NPROCESSORS_CONF), "getcpu() says %u", cpu);
}

const struct crt_test crt_test = {
	.text = "the vdso works and is not stale",
	.setup = setup,
	.verify = verify,
};
