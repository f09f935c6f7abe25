/* SPDX-License-Identifier: GPL-2.0-only */
/* park_arch.h - what this architecture remembers about a thread that is being parked */
#ifndef CRYO_PARK_ARCH_H
#define CRYO_PARK_ARCH_H

/* The registers tell it all but for where in io_uring_enter(2) a thread is that is being traced. */
struct cryo_arch_park {
	unsigned long sleep;	/* in which it was asked: cryo_sleep_of() */
};

#define CRYO_ARCH_REGS_CALL(call)	__x64_sys_##call
#define CRYO_ARCH_SNAPSHOT	1
#define CRYO_ARCH_SHARE		1
#define CRYO_ARCH_TLB_SYMBOL	"flush_tlb_mm_range"
#define CRYO_ARCH_SOFT_DIRTY	IS_ENABLED(CONFIG_MEM_SOFT_DIRTY)

#endif /* CRYO_PARK_ARCH_H */
