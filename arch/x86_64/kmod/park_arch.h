/* SPDX-License-Identifier: GPL-2.0-only */
/* park_arch.h - what this architecture remembers about a thread that is being parked */
#ifndef CRYO_PARK_ARCH_H
#define CRYO_PARK_ARCH_H

/* Nothing: the registers tell it all. */
struct cryo_arch_park {
};

#define CRYO_ARCH_REGS_CALL(call)	__x64_sys_##call
#define CRYO_ARCH_SNAPSHOT	1
#define CRYO_ARCH_SHARE		1
#define CRYO_ARCH_TLB_SYMBOL	"flush_tlb_mm_range"
#define CRYO_ARCH_SOFT_DIRTY	IS_ENABLED(CONFIG_MEM_SOFT_DIRTY)

#endif /* CRYO_PARK_ARCH_H */
