/* SPDX-License-Identifier: GPL-2.0-only */
/* park_arch.h - what this architecture remembers about a thread that is being parked */
#ifndef CRYO_PARK_ARCH_H
#define CRYO_PARK_ARCH_H

#include <linux/types.h>

/*
 * The registers and the kernel's stack tell it all, but for a call that goes on when it has been
 * parked inside.
 */
struct cryo_arch_park {
	unsigned long sleep;		/* in which it was asked: cryo_sleep_of() */
	bool inside_call;
	unsigned long gpr3, ccr;	/* before they were made those of a call that has ended */
};

#endif /* CRYO_PARK_ARCH_H */
