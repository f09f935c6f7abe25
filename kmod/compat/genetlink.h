/* SPDX-License-Identifier: GPL-2.0-only */
/* net/genetlink.h: which users may join a multicast group. */
#ifndef CRYO_COMPAT_GENETLINK_H
#define CRYO_COMPAT_GENETLINK_H

#include <net/genetlink.h>

/*
 * Since v6.7 e03781879a0d, and in the stable series, v6.1.67 among them. Without it everybody may,
 * so there is no group.
 */
#ifdef GENL_MCAST_CAP_SYS_ADMIN
#define CRYO_GENL_GROUPS	1
#define CRYO_GENL_ADMIN_ONLY	GENL_MCAST_CAP_SYS_ADMIN
#else
#define CRYO_GENL_GROUPS	0
#define CRYO_GENL_ADMIN_ONLY	0
#endif

#endif
