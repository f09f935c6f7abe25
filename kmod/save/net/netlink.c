// SPDX-License-Identifier: GPL-2.0-only
/*
 * netlink.c - netlink sockets
 *
 * At their other end is the kernel, which keeps nothing for them but their port and groups; of the
 * protocols where it keeps more, none is here.
 */
#include <linux/bitops.h>
#include <linux/net.h>
#include <linux/netlink.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/sock.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/layouts.h"
#include "compat/netlink.h"
#include "lib/buf.h"
#include "save/net.h"

static const struct {
	int name;
	unsigned int bit;
} options[] = {
	{ NETLINK_PKTINFO, CRYO_NETLINK_PKTINFO },
	{ NETLINK_BROADCAST_ERROR, CRYO_NETLINK_BROADCAST_ERROR },
	{ NETLINK_NO_ENOBUFS, CRYO_NETLINK_NO_ENOBUFS },
	{ NETLINK_CAP_ACK, CRYO_NETLINK_CAP_ACK },
	{ NETLINK_EXT_ACK, CRYO_NETLINK_EXT_ACK },
	{ NETLINK_GET_STRICT_CHK, CRYO_NETLINK_STRICT_CHK },
};

void cryo_put_netlink_options(struct sock *sk, struct cryo_buf *buf)
{
	unsigned long flags = READ_ONCE(cryo_netlink(sk)->flags);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		struct cryo_sockopt out = { .level = SOL_NETLINK, .name = options[i].name };
		int value = !!(flags & BIT(options[i].bit));

		out.length = sizeof(value);
		memcpy(out.value, &value, sizeof(value));
		cryo_buf_put(buf, &out, sizeof(out));
	}
}

static int get_names(struct socket *sock, struct sockaddr_nl *name, struct sockaddr_nl *peer)
{
	int err = kernel_getsockname(sock, (struct sockaddr *)name);

	if (err >= 0)
		err = kernel_getpeername(sock, (struct sockaddr *)peer);
	return min(err, 0);
}

/* The names tell of the first 32. */
static bool in_other_group(struct socket *sock)
{
	struct sockaddr_storage name = {}, peer = {};

	if (get_names(sock, (void *)&name, (void *)&peer))
		return true;
	return READ_ONCE(cryo_netlink(sock->sk)->subscriptions) !=
	       hweight32(((struct sockaddr_nl *)&name)->nl_groups);
}

bool cryo_netlink_unread(const struct sock *sk)
{
	return sk->sk_family == AF_NETLINK && cryo_layout_fits(CRYO_LAYOUT_NETLINK) &&
	       (!skb_queue_empty_lockless(&sk->sk_receive_queue) ||
		READ_ONCE(cryo_netlink(sk)->cb_running));
}

const char *cryo_netlink_obstacle(struct cryo_object *o)
{
	struct socket *sock = sock_from_file(o->file);
	struct sock *sk = sock->sk;

	/* Refused as a whole, save/files/files.c. */
	if (!cryo_layout_fits(CRYO_LAYOUT_NETLINK))
		return NULL;
	switch (sk->sk_protocol) {
	case NETLINK_ROUTE:
	case NETLINK_SOCK_DIAG:
	case NETLINK_KOBJECT_UEVENT:
	case NETLINK_GENERIC:
		break;
	case NETLINK_AUDIT:
		return "NETLINK_AUDIT socket, such as sudo has (checkpoint its child)";
	default:
		return "netlink socket of this protocol";
	}
	if (READ_ONCE(cryo_netlink(sk)->flags) & BIT(CRYO_NETLINK_LISTEN_ALL_NSID))
		return "netlink socket that listens to all network namespaces";
	if (in_other_group(sock))
		return "netlink socket in a group above 32";
	if (cryo_netlink_unread(sk))
		return "netlink socket with messages that have not been read";
	return NULL;
}

int cryo_save_netlink(struct cryo_capture *c, struct cryo_object *o)
{
	struct socket *sock = sock_from_file(o->file);
	struct cryo_sock_names *names = kzalloc(sizeof(*names), GFP_KERNEL_ACCOUNT);
	struct cryo_sock_state out = {
		.family = AF_NETLINK,
		.type = sock->sk->sk_type,
		.protocol = sock->sk->sk_protocol,
		.error = READ_ONCE(sock->sk->sk_err),
	};
	int err = -ENOMEM;

	if (names) {
		err = get_names(sock, (void *)&names->name, (void *)&names->peer);
		names->len = sizeof(struct sockaddr_nl);
		names->peer_len = sizeof(struct sockaddr_nl);
		out.groups = ((struct sockaddr_nl *)&names->name)->nl_groups;
	}
	err = err ?: cryo_save_sockstate(c, o, &out, names) ?: cryo_save_sockopts(c, o);
	kfree(names);
	return err;
}
