// SPDX-License-Identifier: GPL-2.0-only
/*
 * uprobes.c - what uprobes put in the place of instructions that do nothing
 *
 * Not a breakpoint, but a call to an area of the kernel's: of a NOP of five bytes since v6.18; in
 * later kernels of one of ten, of which the first five become an LEA that leaves the red zone
 * alone, and the call stays when the probe has gone, as operands of the NOP
 * (arch/x86/kernel/uprobes.c).
 */
#include <linux/string.h>

#include "cryo_arch.h"

#define CALL		0xe8
#define LEA_SIZE	5

static const u8 nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
static const u8 nop10[] = { 0x66, 0x2e, 0x0f, 0x1f, 0x84 };	/* its first bytes */
static const u8 lea_rsp[] = { 0x48, 0x8d, 0x64, 0x24, 0x80 };

bool cryo_arch_probe_call(const u8 *code, long *distance)
{
	s32 value;

	memcpy(&value, code + 1, sizeof(value));
	*distance = value;
	return *code == CALL;
}

unsigned int cryo_arch_probe_replacement(const u8 *now, const u8 *was, unsigned int left,
					 long *distance)
{
	if (left >= CRYO_PROBE_CALL && !memcmp(was, nop5, sizeof(nop5)) &&
	    cryo_arch_probe_call(now, distance))
		return CRYO_PROBE_CALL;
	if (left >= LEA_SIZE + CRYO_PROBE_CALL && !memcmp(was, nop10, sizeof(nop10)) &&
	    (!memcmp(now, lea_rsp, sizeof(lea_rsp)) || !memcmp(now, nop10, sizeof(nop10))) &&
	    cryo_arch_probe_call(now + LEA_SIZE, distance))
		return LEA_SIZE + CRYO_PROBE_CALL;
	return 0;
}
