// SPDX-License-Identifier: GPL-2.0-only
/* Memory that is guarded against branches to where none is expected (PROT_BTI) stays so. */
#define _GNU_SOURCE
#include "crtest.h"
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define BTI_BIT (1UL << 17)		/* of AT_HWCAP2 */
#define GUARDED 0x10			/* PROT_BTI */

/* bti c; ret; ret: an entry that may be called, and at 8 one that may not */
static const uint32_t code[] = { 0xd503245f, 0xd65f03c0, 0xd65f03c0 };
static char *guarded, *plain;
static sigjmp_buf back;

static void on_sigill(int sig)
{
	siglongjmp(back, sig);
}

static bool can_call(char *entry)
{
	if (sigsetjmp(back, 1))
		return false;
	((void (*)(void))entry)();
	return true;
}

static char *make(int prot)
{
	char *page = CRT_MAP(mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	memcpy(page, code, sizeof(code));
	__builtin___clear_cache(page, page + sizeof(code));
	CRT_SYS(mprotect(page, 65536, PROT_READ | PROT_EXEC | prot));
	return page;
}

static void look(const char *when)
{
	crt_ok(can_call(guarded), "%s: guarded code is called where it may be", when);
	crt_ok(!can_call(guarded + 8), "%s: and nowhere else", when);
	crt_ok(can_call(plain + 8), "%s: code that is not guarded is called anywhere", when);
}

static void setup(void)
{
	if (!(getauxval(AT_HWCAP2) & BTI_BIT))
		crt_skip("no BTI");
	CRT_SYS(signal(SIGILL, on_sigill) == SIG_ERR ? -1 : 0);
	guarded = make(GUARDED);
	plain = make(0);
	look("before");
}

static void verify(void)
{
	look("now");
}

const struct crt_test crt_test = {
	.text = "memory with PROT_BTI",
	.setup = setup,
	.verify = verify,
};
