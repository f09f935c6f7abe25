// SPDX-License-Identifier: GPL-2.0-only
/* Code that can be run but not read: PROT_EXEC alone, which some CPUs do with a protection key. */
#define _GNU_SOURCE
#include "crtest.h"
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096UL

static unsigned char *code;
static bool readable;

/* Copied to where it runs: needs nothing but its own bytes. */
static int __attribute__((noinline, noclone, aligned(64))) body(void)
{
	return 0x1234567;
}

static void setup(void)
{
	const void *source;
	int (*fn)(void) = body;

	memcpy(&source, &fn, sizeof(source));
	code = CRT_MAP(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	memcpy(code + 128, source, 64);
	__builtin___clear_cache((char *)code, (char *)code + PAGE);
	CRT_SYS(mprotect(code, PAGE, PROT_EXEC));
	readable = crt_try_read(code, NULL) == 0;
}

static void verify(void)
{
	const unsigned char *at = code + 128;
	int (*fn)(void);

	memcpy(&fn, &at, sizeof(fn));
	crt_same(fn(), 0x1234567, "it runs");
	crt_same(crt_try_read(code, NULL) == 0, readable, "it can be read or not, as before");
	crt_ok(crt_try_write(code, NULL), "it cannot be written");
}

const struct crt_test crt_test = {
	.text = "execute-only memory",
	.setup = setup,
	.verify = verify,
};
