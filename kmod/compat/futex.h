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
 * Bits of a wait that futex(2) itself has made, with a timeout, as they are up to v6.6, and since.
 */
#define CRYO_FUTEX_OLD		0x04	/* FLAGS_HAS_TIMEOUT */
#define CRYO_FUTEX_OLD_SHARED	0x01
#define CRYO_FUTEX_OLD_CLOCKRT	0x02
#define CRYO_FUTEX_NEW		0x42	/* FLAGS_HAS_TIMEOUT, a word of 32 bits */
#define CRYO_FUTEX_NEW_SHARED	0x10
#define CRYO_FUTEX_NEW_CLOCKRT	0x20

/*
 * @flags of the kernel that wrote a context, whichever it was, as this one has them; 0: of no wait
 *	that futex(2) makes.
 */
static inline u32 cryo_futex_flags(u32 flags)
{
	bool is_old = (flags & ~(CRYO_FUTEX_OLD_SHARED | CRYO_FUTEX_OLD_CLOCKRT)) == CRYO_FUTEX_OLD;
	bool is_new = (flags & ~(CRYO_FUTEX_NEW_SHARED | CRYO_FUTEX_NEW_CLOCKRT)) == CRYO_FUTEX_NEW;
	bool shared = flags & (is_old ? CRYO_FUTEX_OLD_SHARED : CRYO_FUTEX_NEW_SHARED);
	bool realtime = flags & (is_old ? CRYO_FUTEX_OLD_CLOCKRT : CRYO_FUTEX_NEW_CLOCKRT);

	if (!is_old && !is_new)
		return 0;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	return CRYO_FUTEX_NEW | (shared ? CRYO_FUTEX_NEW_SHARED : 0) |
	       (realtime ? CRYO_FUTEX_NEW_CLOCKRT : 0);
#else
	return CRYO_FUTEX_OLD | (shared ? CRYO_FUTEX_OLD_SHARED : 0) |
	       (realtime ? CRYO_FUTEX_OLD_CLOCKRT : 0);
#endif
}

#endif
