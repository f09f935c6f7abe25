// SPDX-License-Identifier: GPL-2.0-only
/* Locked memory: mlock(), MLOCK_ONFAULT, and with the case "future" mlockall(MCL_FUTURE). */
#define _GNU_SOURCE
#include "crtest.h"
#include <string.h>
#include <sys/mman.h>

#define PAGE crt_page()

static unsigned char *locked, *onfault, *loose;
static char before[64];

static unsigned char *map(size_t size)
{
	return CRT_MAP(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static bool is_future(void)
{
	return crt_case && !strcmp(crt_case, "future");
}

static void setup(void)
{
	unsigned char *area = map(128 * PAGE);

	locked = area;
	loose = area + 8 * PAGE;
	onfault = area + 64 * PAGE;
	crt_fill(area, 128 * PAGE, 12);
	CRT_SYS(mlock(locked, 8 * PAGE));
	CRT_SYS(mlock2(onfault, 64 * PAGE, MLOCK_ONFAULT));
	if (is_future())
		CRT_SYS(mlockall(MCL_FUTURE | MCL_ONFAULT));
	if (!crt_status("VmLck", before, sizeof(before)))
		crt_die("no VmLck");
}

static bool vm_flag(const void *addr, const char *flag)
{
	char flags[256] = "";

	return crt_smaps(addr, "VmFlags", flags, sizeof(flags)) && crt_has_word(flags, flag);
}

static void verify(void)
{
	unsigned char *fresh;
	char now[64] = "";

	crt_status("VmLck", now, sizeof(now));
	crt_same_str(now, before, "as much is locked");
	crt_ok(vm_flag(locked, "lo"), "the locked area is");
	crt_ok(!vm_flag(loose, "lo"), "the area next to it is not");
	crt_ok(vm_flag(onfault, "lo"), "the area locked on fault is");
	crt_same(crt_bad(locked, 128 * PAGE, 12), -1, "contents");
	fresh = map(PAGE * 4);
	crt_ok(vm_flag(fresh, "lo") == is_future(), "new mappings are locked: %s", is_future() ? "yes" : "no");
	crt_same(munlockall(), 0, "it can be unlocked");
}

const struct crt_test crt_test = {
	.text = "locked memory is locked, the rest is not",
	.setup = setup,
	.verify = verify,
};
