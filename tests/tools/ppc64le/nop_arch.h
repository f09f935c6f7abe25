/* SPDX-License-Identifier: GPL-2.0-only */
/* nop_arch.h - an instruction that does nothing */
#ifndef NOP_ARCH_H
#define NOP_ARCH_H

#define NOP "nop"

#endif
