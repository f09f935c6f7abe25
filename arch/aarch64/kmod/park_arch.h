/* SPDX-License-Identifier: GPL-2.0-only */
/* park_arch.h - what this architecture remembers about a thread that is being parked */
#ifndef CRYO_PARK_ARCH_H
#define CRYO_PARK_ARCH_H

#include <linux/types.h>

#define CRYO_ARCH_REGS_CALL(call)	__arm64_sys_##call

enum cryo_arch_change {
	CRYO_UNCHANGED,
	CRYO_WAIT_AGAIN,	/* a call that had settled on EINTR will be made again */
	CRYO_RESTART_BLOCK,	/* shows what the kernel is going to do anyhow */
	CRYO_INSIDE_CALL,	/* shows a call that goes on as one that has ended */
};

struct cryo_arch_park {
	/* the system call it slept in when it was asked, or -1, or NR_UNKNOWN */
	s32 nr;
	unsigned long switches;	/* its voluntary context switches then */
	enum cryo_arch_change change;
	/* what its call had returned within the kernel; 0: none, or not known */
	int error;
	u64 x0, x8, pc;		/* before that */
};

#define CRYO_ARCH_SNAPSHOT	1
/* Entries would not be in the account of a kernel that keeps one. */
#define CRYO_ARCH_SHARE		!IS_ENABLED(CONFIG_PAGE_TABLE_CHECK)

#endif /* CRYO_PARK_ARCH_H */
