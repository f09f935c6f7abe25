/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/netdevice.h: devices that stay in their network namespace. */
#ifndef CRYO_COMPAT_NETDEVICE_H
#define CRYO_COMPAT_NETDEVICE_H

#include <linux/netdevice.h>

/*
 * A feature until v6.12 05c1280a2bcf, which made it the member netns_local; netns_immutable since
 * v6.15 0c493da86374, and in the middle of what came of 6.12 later: Kbuild looks in the header
 * which one there is. False where there is neither.
 */
static inline bool cryo_device_stays(const struct net_device *dev)
{
#if defined(CRYO_DEVICE_STAYS)
	return dev->CRYO_DEVICE_STAYS;
#elif defined(NETIF_F_NETNS_LOCAL)
	return dev->features & NETIF_F_NETNS_LOCAL;
#else
	return false;
#endif
}

#endif
