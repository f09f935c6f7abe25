/* SPDX-License-Identifier: GPL-2.0-only */
/* nop_arch.h - an instruction that does nothing: the one that kernels replace by a call where there is a
 * uprobe */
#ifndef NOP_ARCH_H
#define NOP_ARCH_H

#define NOP ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0"

#endif
