/* SPDX-License-Identifier: GPL-2.0-only */
/* kernel/futex/futex.h, which is private: flags in a futex's restart block. */
#ifndef CRYO_COMPAT_FUTEX_H
#define CRYO_COMPAT_FUTEX_H

#include <linux/types.h>
#include <linux/version.h>

/* FLAGS_CLOCKRT; renumbered by v6.7 (d6d08d2479ea, futex2 flags). */
static inline u32 cryo_futex_clockrt(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	return 0x0020;
#else
	return 0x02;
#endif
}

/*
 * Those of a wait that futex(2) itself has made: a word of 32 bits (said since v6.7), with a timeout; FLAGS_SHARED and
 * FLAGS_CLOCKRT as it may be.
 */
static inline bool cryo_futex_flags_fit(u32 flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	return (flags & ~0x0030U) == 0x0042;
#else
	return (flags & ~0x03U) == 0x04;
#endif
}

#endif
