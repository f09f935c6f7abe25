/* SPDX-License-Identifier: GPL-2.0-only */
/* park_arch.h - what this architecture remembers about a thread that is being parked */
#ifndef CRYO_PARK_ARCH_H
#define CRYO_PARK_ARCH_H

/* Nothing: the registers tell it all. */
struct cryo_arch_park {
};

#endif /* CRYO_PARK_ARCH_H */
