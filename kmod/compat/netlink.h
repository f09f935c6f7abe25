/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * net/netlink/af_netlink.h: getsockopt(2) of netlink sockets takes user memory only, and no call
 * tells whether a dump goes on.
 */
#ifndef CRYO_COMPAT_NETLINK_H
#define CRYO_COMPAT_NETLINK_H

#include <linux/netlink.h>
#include <linux/wait.h>
#include <net/sock.h>

/* The beginning of struct netlink_sock, the same from v6.6 (8fe08d70a2b6, in 6.1 too) to 7.2. */
struct cryo_netlink_sock {
	struct sock sk;
	unsigned long flags;
	u32 portid;
	u32 dst_portid;
	u32 dst_group;
	u32 subscriptions;
	u32 ngroups;
	unsigned long *groups;
	unsigned long state;
	size_t max_recvmsg_len;
	wait_queue_head_t wait;
	bool bound;
	bool cb_running;
};

/* Bits of @flags. */
#define CRYO_NETLINK_PKTINFO		1
#define CRYO_NETLINK_BROADCAST_ERROR	2
#define CRYO_NETLINK_NO_ENOBUFS		3
#define CRYO_NETLINK_LISTEN_ALL_NSID	4
#define CRYO_NETLINK_CAP_ACK		5
#define CRYO_NETLINK_EXT_ACK		6
#define CRYO_NETLINK_STRICT_CHK		7

static inline const struct cryo_netlink_sock *cryo_netlink(const struct sock *sk)
{
	return (const struct cryo_netlink_sock *)sk;
}

#endif
