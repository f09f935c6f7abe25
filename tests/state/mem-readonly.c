// SPDX-License-Identifier: GPL-2.0-only
/* Memory written first and write-protected later, and code made at run time. */
#define _GNU_SOURCE
#include "crtest.h"
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096UL

static unsigned char *readonly, *shared, *code;

static unsigned char *map(int how)
{
	return CRT_MAP(mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0));
}

/* Copied to where it runs: needs nothing but its own bytes. */
static int __attribute__((noinline, noclone, aligned(64))) body(void)
{
	return 0x1234567;
}

#define BODY_SIZE 64

static void setup(void)
{
	const void *source;
	int (*fn)(void) = body;

	memcpy(&source, &fn, sizeof(source));
	readonly = map(MAP_PRIVATE);
	shared = map(MAP_SHARED);
	code = map(MAP_PRIVATE);
	crt_fill(readonly, 4 * PAGE, 31);
	crt_fill(shared, 4 * PAGE, 32);
	memcpy(code + 128, source, BODY_SIZE);
	__builtin___clear_cache((char *)code, (char *)code + PAGE);
	CRT_SYS(mprotect(readonly, 4 * PAGE, PROT_READ));
	CRT_SYS(mprotect(shared, 4 * PAGE, PROT_READ));
	CRT_SYS(mprotect(code, 4 * PAGE, PROT_READ | PROT_EXEC));
}

static int call(const unsigned char *at)
{
	int (*fn)(void);

	memcpy(&fn, &at, sizeof(fn));
	return fn();
}

static void verify(void)
{
	crt_same(crt_bad(readonly, 4 * PAGE, 31), -1, "contents of a read-only area");
	crt_same(crt_try_write(readonly + PAGE, NULL), SIGSEGV, "it cannot be written");
	crt_same(crt_bad(shared, 4 * PAGE, 32), -1, "contents of a shared read-only area");
	crt_same(crt_try_write(shared + PAGE, NULL), SIGSEGV, "it cannot be written");
	crt_same(call(code + 128), 0x1234567, "code made at run time runs");
	crt_same(crt_try_write(code, NULL), SIGSEGV, "and cannot be written");
	CRT_SYS(mprotect(readonly, 4 * PAGE, PROT_READ | PROT_WRITE));
	crt_same(crt_try_write(readonly, NULL), 0, "it can be made writable again");
}

const struct crt_test crt_test = {
	.text = "write-protected memory keeps contents and protection",
	.setup = setup,
	.verify = verify,
};
