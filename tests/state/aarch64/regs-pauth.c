// SPDX-License-Identifier: GPL-2.0-only
/* Pointer authentication: signatures made before are what the keys make after; keys that are off stay off. */
#define _GNU_SOURCE
#include "crtest.h"
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#define PATTERN 0x0000123456789ab0UL
#define CONTEXT 0xfedcba9876543210UL
#define SET_ENABLED_KEYS 60		/* of prctl(2), 5.13 */
#define GET_ENABLED_KEYS 61
#define KEY_IB 2UL			/* PR_PAC_APIBKEY */

static const char *const names[5] = { "instruction key A", "instruction key B", "data key A", "data key B", "generic key" };
static uint64_t before[5];
static bool has_generic;
static int enabled;

static void sign(uint64_t out[5])
{
	register uint64_t context __asm__("x1") = CONTEXT;
	register uint64_t value __asm__("x0");

#define SIGN(n, instruction) \
	value = PATTERN; \
	__asm__ volatile(".arch_extension pauth\n" instruction : "+r"(value) : "r"(context)); \
	out[n] = value
	SIGN(0, "pacia x0, x1");
	SIGN(1, "pacib x0, x1");
	SIGN(2, "pacda x0, x1");
	SIGN(3, "pacdb x0, x1");
	if (has_generic) {
		SIGN(4, "pacga x0, x0, x1");
	}
}

static void setup(void)
{
	if (!(getauxval(AT_HWCAP) & HWCAP_PACA))
		crt_skip("no pointer authentication");
	has_generic = getauxval(AT_HWCAP) & HWCAP_PACG;
	sign(before);
	crt_diag("%#llx %#llx", (unsigned long long)before[0], (unsigned long long)before[1]);
	CRT_SYS(prctl(SET_ENABLED_KEYS, KEY_IB, 0, 0, 0));
	enabled = CRT_SYS(prctl(GET_ENABLED_KEYS, 0, 0, 0, 0));
}

static void verify(void)
{
	uint64_t after[5] = {};

	crt_same(prctl(GET_ENABLED_KEYS, 0, 0, 0, 0), enabled, "enabled keys");
	sign(after);
	crt_same((long long)after[1], (long long)PATTERN, "with a key that is off nothing is signed");
	CRT_SYS(prctl(SET_ENABLED_KEYS, KEY_IB, KEY_IB, 0, 0));
	sign(after);
	for (int i = 0; i < 5; i++)
		if (i < 4 || has_generic)
			crt_same((long long)after[i], (long long)before[i], "%s", names[i]);
}

const struct crt_test crt_test = {
	.text = "keys of pointer authentication",
	.setup = setup,
	.verify = verify,
};
