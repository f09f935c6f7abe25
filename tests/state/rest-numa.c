// SPDX-License-Identifier: GPL-2.0-only
/* NUMA policies of two threads and of areas of memory; utilization clamps where the kernel has them. */
#define _GNU_SOURCE
#include "crtest.h"
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
	uint32_t util_min, util_max;
};

static atomic_int ready, done, thread_mode = -1;
static unsigned long thread_nodes;
static unsigned char *bound, *preferred, *plain;
static pthread_t thread;
static bool clamped;
#define SIZE 65536

static int policy_of(void *addr, unsigned long *nodes)
{
	unsigned long mask[16] = { 0 };
	int mode = -1;

	CRT_SYS(syscall(SYS_get_mempolicy, &mode, mask, 1024, addr, addr ? MPOL_F_ADDR : 0));
	*nodes = mask[0];
	return mode;
}

static void *other(void *arg)
{
	unsigned long node = 1;

	(void)arg;
	CRT_SYS(syscall(SYS_set_mempolicy, MPOL_INTERLEAVE | MPOL_F_STATIC_NODES, &node, 64));
	ready = 1;
	while (!crt_go())
		crt_sleep_ms(20);
	thread_mode = policy_of(NULL, &thread_nodes);
	done = 1;
	return NULL;
}

static void *area(int mode, unsigned long node)
{
	unsigned char *p = CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	CRT_SYS(syscall(SYS_mbind, p, SIZE, mode, node ? &node : NULL, node ? 64 : 0, 0));
	crt_fill(p, SIZE, (uint64_t)mode);
	return p;
}

static void setup(void)
{
	struct attributes attributes = { .size = sizeof(attributes), .flags = 0x20 | 0x40 | 0x18,
					 .util_min = 100, .util_max = 700 };
	unsigned long node = 1;

	if (syscall(SYS_get_mempolicy, NULL, NULL, 0, NULL, 0))
		crt_skip("no NUMA policies on this kernel");
	CRT_SYS(-pthread_create(&thread, NULL, other, NULL));
	while (!ready)
		crt_sleep_ms(10);
	CRT_SYS(syscall(SYS_set_mempolicy, MPOL_BIND, &node, 64));
	bound = area(MPOL_BIND, 1);
	preferred = area(MPOL_PREFERRED, 1);
	plain = CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	/* Keeps policy and parameters; EOPNOTSUPP or EINVAL without clamps. */
	clamped = !syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static void verify(void)
{
	struct attributes attributes = { .size = sizeof(attributes) };
	unsigned long nodes;

	for (int i = 0; i < 200 && !done; i++)
		crt_sleep_ms(20);
	crt_same(policy_of(NULL, &nodes), MPOL_BIND, "the policy of the main thread");
	crt_same((long long)nodes, 1, "and its nodes");
	crt_same(thread_mode, MPOL_INTERLEAVE | MPOL_F_STATIC_NODES, "the policy of the other one");
	crt_same((long long)thread_nodes, 1, "and its nodes");
	crt_same(policy_of(bound, &nodes), MPOL_BIND, "an area is bound");
	crt_same((long long)nodes, 1, "to its node");
	crt_same(crt_bad(bound, SIZE, MPOL_BIND), -1, "and has its contents");
	crt_same(policy_of(preferred, &nodes), MPOL_PREFERRED, "another one has a preference");
	crt_same(crt_bad(preferred, SIZE, MPOL_PREFERRED), -1, "and its contents");
	crt_same(policy_of(plain, &nodes), MPOL_DEFAULT, "one has none of its own");
	if (!clamped)
		return;
	CRT_SYS(syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0));
	crt_same(attributes.util_min, 100, "the lower clamp of utilization");
	crt_same(attributes.util_max, 700, "and the upper one");
}

const struct crt_test crt_test = {
	.text = "NUMA policies, utilization clamps",
	.setup = setup,
	.verify = verify,
};
