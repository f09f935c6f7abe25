/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/netdevice.h: devices that stay in their network namespace. */
#ifndef CRYO_COMPAT_NETDEVICE_H
#define CRYO_COMPAT_NETDEVICE_H

#include <linux/netdevice.h>
#include <linux/version.h>

/*
 * A feature until v6.12 05c1280a2bcf, which made it netns_local; netns_immutable since v6.15 0c493da86374, and in what
 * came of 6.12 later.  In between nobody asks: false.
 */
static inline bool cryo_device_stays(const struct net_device *dev)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
	return dev->features & NETIF_F_NETNS_LOCAL;
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	return dev->netns_immutable;
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 30) && \
	LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	return dev->netns_immutable;
#else
	return false;
#endif
}

#endif
