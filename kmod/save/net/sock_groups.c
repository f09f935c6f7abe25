// SPDX-License-Identifier: GPL-2.0-only
/*
 * sock_groups.c - multicast groups that IPv4 and IPv6 sockets are in, and network interfaces that
 * their options name
 */
#include <linux/igmp.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <net/if_inet6.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "lib/buf.h"
#include "save/net.h"
#include "save/net/sock_filter.h"

/* False: it has gone, and with it what came by it. */
static bool name_device(struct net *net, int ifindex, u8 *name)
{
	struct net_device *dev;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(net, ifindex);
	if (dev)
		memcpy(name, dev->name, IFNAMSIZ);
	rcu_read_unlock();
	return dev;
}

/*
 * Of a group of which it wants the packets of no source, it gets none: a call that has failed has
 * left it.
 */
static bool put_group(struct sock *sk, int ifindex, struct cryo_sock_group *out,
		      struct cryo_buf *buf)
{
	if (out->mode == MCAST_INCLUDE && !out->sources)
		return false;
	BUILD_BUG_ON(sizeof(out->device) != IFNAMSIZ);
	if (!name_device(sock_net(sk), ifindex, out->device))
		return false;
	cryo_buf_put(buf, out, sizeof(*out));
	return true;
}

/* With the socket's lock, under which they change.  Returns how many there are. */
static u32 put_ipv4_groups(struct sock *sk, struct cryo_buf *buf)
{
	struct ip_mc_socklist *at;
	u32 n = 0, i;

	for (at = rcu_dereference_protected(inet_sk(sk)->mc_list, true); at;
	     at = rcu_dereference_protected(at->next_rcu, true)) {
		struct ip_sf_socklist *list = rcu_dereference_protected(at->sflist, true);
		struct cryo_sock_group out = {
			.family = AF_INET,
			.mode = at->sfmode,
			.sources = list ? list->sl_count : 0,
		};

		memcpy(out.group, &at->multi.imr_multiaddr, sizeof(__be32));
		if (!put_group(sk, at->multi.imr_ifindex, &out, buf))
			continue;
		for (i = 0; i < out.sources; i++) {
			u8 source[16] = {};

			memcpy(source, &list->sl_addr[i], sizeof(__be32));
			cryo_buf_put(buf, source, sizeof(source));
		}
		n++;
	}
	return n;
}

#if IS_ENABLED(CONFIG_IPV6)
static u32 put_ipv6_groups(struct sock *sk, struct cryo_buf *buf)
{
	struct ipv6_mc_socklist *at;
	u32 n = 0;

	for (at = rcu_dereference_protected(inet6_sk(sk)->ipv6_mc_list, true); at;
	     at = rcu_dereference_protected(at->next, true)) {
		struct ip6_sf_socklist *list = rcu_dereference_protected(at->sflist, true);
		struct cryo_sock_group out = {
			.family = AF_INET6,
			.mode = at->sfmode,
			.sources = list ? list->sl_count : 0,
		};

		memcpy(out.group, &at->addr, sizeof(at->addr));
		if (!put_group(sk, at->ifindex, &out, buf))
			continue;
		if (out.sources)
			cryo_buf_put(buf, list->sl_addr, out.sources * sizeof(struct in6_addr));
		n++;
	}
	return n;
}
#else
static u32 put_ipv6_groups(struct sock *sk, struct cryo_buf *buf)
{
	return 0;
}
#endif

static bool has_ipv6_groups(struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	return sk->sk_family == AF_INET6 && rcu_access_pointer(inet6_sk(sk)->ipv6_mc_list);
#else
	return false;
#endif
}

int cryo_save_sock_groups(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_array head = { .record_size = sizeof(struct cryo_sock_group) };
	struct sock *sk = cryo_sock_of(o);
	struct cryo_buf buf = {};
	int err;

	if (sk->sk_family != AF_INET && sk->sk_family != AF_INET6)
		return 0;
	if (!rcu_access_pointer(inet_sk(sk)->mc_list) && !has_ipv6_groups(sk))
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	err = cryo_sock_lock(c, o, sk);
	if (err) {
		cryo_buf_free(&buf);
		return err;
	}
	head.count = put_ipv4_groups(sk, &buf);
	if (has_ipv6_groups(sk))
		head.count += put_ipv6_groups(sk, &buf);
	cryo_sock_unlock(sk);
	if (!buf.error)
		memcpy(buf.data, &head, sizeof(head));
	return cryo_stream_buf(&c->stream, CRYO_SEC_SOCK_GROUPS, o->id, sizeof(head), &buf);
}

static u32 put_device_name(struct sock *sk, int level, int name, int ifindex,
			   struct cryo_buf *buf)
{
	struct cryo_sock_device out = { .level = level, .name = name };

	BUILD_BUG_ON(sizeof(out.device) != IFNAMSIZ);
	if (!ifindex)
		return 0;
	name_device(sock_net(sk), ifindex, out.device);
	cryo_buf_put(buf, &out, sizeof(out));
	return 1;
}

int cryo_save_sock_devices(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_array head = { .record_size = sizeof(struct cryo_sock_device) };
	struct sock *sk = cryo_sock_of(o);
	struct cryo_buf buf = {};
	int err;

	if (sk->sk_family != AF_INET && sk->sk_family != AF_INET6)
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	head.count = put_device_name(sk, IPPROTO_IP, IP_MULTICAST_IF,
				     READ_ONCE(inet_sk(sk)->mc_index), &buf);
	head.count += put_device_name(sk, IPPROTO_IP, IP_UNICAST_IF,
				      READ_ONCE(inet_sk(sk)->uc_index), &buf);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		head.count += put_device_name(sk, IPPROTO_IPV6, IPV6_MULTICAST_IF,
					       READ_ONCE(inet6_sk(sk)->mcast_oif), &buf);
		head.count += put_device_name(sk, IPPROTO_IPV6, IPV6_UNICAST_IF,
					       READ_ONCE(inet6_sk(sk)->ucast_oif), &buf);
	}
#endif
	if (!head.count || buf.error) {
		err = buf.error;
		cryo_buf_free(&buf);
		return err;
	}
	memcpy(buf.data, &head, sizeof(head));
	return cryo_stream_buf(&c->stream, CRYO_SEC_SOCK_DEVICES, o->id, sizeof(head), &buf);
}
