// SPDX-License-Identifier: GPL-2.0-only
/* Memory protection keys: which are allocated, which memory has them, and each thread's rights. */
#define _GNU_SOURCE
#include "crtest.h"
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096UL

static int unused, hidden, fixed;
static char *secret, *constant;
static volatile int other_hidden = -1, other_fixed = -1;
static pthread_t other;

static void *other_thread(void *arg)
{
	pkey_set(hidden, 0);
	pkey_set(fixed, PKEY_DISABLE_ACCESS);
	while (crt_go())
		;
	other_hidden = pkey_get(hidden);
	other_fixed = pkey_get(fixed);
	return arg;
}

static char *memory_with(int key, char c)
{
	char *p = CRT_MAP(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	memset(p, c, PAGE);
	CRT_SYS(pkey_mprotect(p, PAGE, PROT_READ | PROT_WRITE, key));
	return p;
}

static void setup(void)
{
	int gap;

	unused = pkey_alloc(0, 0);
	if (unused < 0)
		crt_skip("no protection keys");
	gap = (int)CRT_SYS(pkey_alloc(0, 0));
	hidden = (int)CRT_SYS(pkey_alloc(0, 0));
	fixed = (int)CRT_SYS(pkey_alloc(0, 0));
	CRT_SYS(pkey_free(gap));
	secret = memory_with(hidden, 's');
	constant = memory_with(fixed, 'c');
	pkey_set(hidden, PKEY_DISABLE_ACCESS);
	pkey_set(fixed, PKEY_DISABLE_WRITE);
	CRT_SYS(-pthread_create(&other, NULL, other_thread, NULL));
}

/* A handler of signals, and what jumps out of it, has rights to nothing. */
static bool can(int (*access)(const volatile void *addr, void **fault), const char *at)
{
	bool could = !access(at, NULL);

	pkey_set(hidden, PKEY_DISABLE_ACCESS);
	pkey_set(fixed, PKEY_DISABLE_WRITE);
	return could;
}

static int write_to(const volatile void *addr, void **fault)
{
	return crt_try_write((volatile void *)addr, fault);
}

static void verify(void)
{
	static bool joined;

	if (!joined)
		pthread_join(other, NULL);
	joined = true;
	crt_same(pkey_get(hidden), PKEY_DISABLE_ACCESS, "rights to the first key");
	crt_same(pkey_get(fixed), PKEY_DISABLE_WRITE, "rights to the second key");
	crt_same(other_hidden, 0, "another thread's rights to the first key");
	crt_same(other_fixed, PKEY_DISABLE_ACCESS, "another thread's rights to the second key");
	crt_ok(!can(crt_try_read, secret), "memory with the first key cannot be read");
	crt_ok(can(crt_try_read, constant), "memory with the second key can be read");
	crt_ok(!can(write_to, constant), "memory with the second key cannot be written");
	pkey_set(hidden, 0);
	crt_ok(secret[0] == 's' && secret[PAGE - 1] == 's' && constant[7] == 'c', "contents");
	pkey_set(hidden, PKEY_DISABLE_ACCESS);
	crt_same(pkey_alloc(0, 0), hidden - 1, "the key that was free is the next one");
	CRT_SYS(pkey_free(hidden - 1));
	crt_same(pkey_free(unused), 0, "the key that no memory has can be freed");
	crt_same(pkey_alloc(0, 0), unused, "and allocated again");
}

const struct crt_test crt_test = {
	.text = "memory protection keys",
	.setup = setup,
	.verify = verify,
};
