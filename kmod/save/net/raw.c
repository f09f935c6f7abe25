// SPDX-License-Identifier: GPL-2.0-only
/*
 * raw.c - raw and ping sockets of IPv4 and IPv6
 *
 * Each stands alone, and whoever sends to it does not know that it is there. So what it has been
 * sent and has not read is no more than a packet that got lost, and so it is told.
 */
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/inetdevice.h>
#include <linux/ipv6.h>
#include <linux/net.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/raw.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/ksym.h"
#include "lib/buf.h"
#include "save/net.h"
#include "save/net/raw.h"

static bool is_inet(const struct sock *sk)
{
	return sk->sk_family == AF_INET || sk->sk_family == AF_INET6;
}

bool cryo_is_raw(const struct sock *sk)
{
	return is_inet(sk) && sk->sk_type == SOCK_RAW;
}

static bool is_ping(const struct sock *sk)
{
	return sk->sk_type == SOCK_DGRAM &&
	       ((sk->sk_family == AF_INET && sk->sk_protocol == IPPROTO_ICMP) ||
		(sk->sk_family == AF_INET6 && sk->sk_protocol == IPPROTO_ICMPV6));
}

bool cryo_is_raw_or_ping(const struct sock *sk)
{
	return cryo_is_raw(sk) || is_ping(sk);
}

/* Is it told of packets with the option "router alert"? getsockopt(2) does not say so. */
static bool hears_alerts(const struct sock *sk)
{
	struct ip_ra_chain *at;
	bool found = false;

	rcu_read_lock();
	for (at = rcu_dereference(sock_net(sk)->ipv4.ra_chain); at && !found;
	     at = rcu_dereference(at->next))
		found = at->sk == sk;
	rcu_read_unlock();
	return found;
}

static bool routes_multicast6(const struct net *net)
{
#if IS_ENABLED(CONFIG_IPV6_MROUTE)
	return net->ipv6.devconf_all && atomic_read(&net->ipv6.devconf_all->mc_forwarding);
#else
	return false;
#endif
}

/* Which socket it is that routes them is the kernel's secret: one of this kind. */
static bool may_route_multicast(const struct sock *sk)
{
	struct net *net = sock_net(sk);

	if (!cryo_is_raw(sk))
		return false;
	if (sk->sk_family == AF_INET6)
		return inet_sk(sk)->inet_num == IPPROTO_ICMPV6 && routes_multicast6(net);
	return inet_sk(sk)->inet_num == IPPROTO_IGMP && IPV4_DEVCONF_ALL(net, MC_FORWARDING);
}

const char *cryo_raw_obstacle(struct cryo_capture *c, struct cryo_object *o)
{
	struct sock *sk = cryo_sock_of(o);

	if (may_route_multicast(sk))
		return "raw socket that may be the one of a multicast router";
	if (sk->sk_family == AF_INET && cryo_is_raw(sk) && hears_alerts(sk))
		return "raw socket with IP_ROUTER_ALERT";
	if (cryo_has_ip_options(sk))
		return "raw or ping socket with IP options or extension headers";
	if (!skb_queue_empty_lockless(&sk->sk_error_queue))
		return "raw or ping socket with messages in its error queue";
	if (!skb_queue_empty_lockless(&sk->sk_receive_queue))
		cryo_warn(c, o->proc, "fd %d (socket): packets that have not been read are not saved",
			  o->fd >= 0 ? o->fd : o->carrier);
	return NULL;
}

#if IS_ENABLED(CONFIG_IPV6)
/* Of ICMPv6 the kernel knows where the checksum is. */
static void put_ipv6_options(struct sock *sk, struct cryo_buf *buf)
{
	const struct raw6_sock *raw = raw6_sk(sk);
	int checksum = raw->checksum ? (int)raw->offset : -1, header = 0, len = sizeof(header);

	BUILD_BUG_ON(sizeof(raw->filter) > CRYO_SOCKOPT_SIZE);
	if (!cryo_getsockopt(sk, IPPROTO_IP, IP_HDRINCL, &header, &len))
		cryo_put_sockopt(IPPROTO_IPV6, IPV6_HDRINCL, &header, sizeof(header), buf);
	cryo_put_sockopt(SOL_RAW, IPV6_CHECKSUM, &checksum, sizeof(checksum), buf);
	if (inet_sk(sk)->inet_num == IPPROTO_ICMPV6)
		cryo_put_sockopt(IPPROTO_ICMPV6, ICMPV6_FILTER, &raw->filter, sizeof(raw->filter),
				 buf);
}
#endif

/* Those that raw sockets have alone. With the socket's lock. */
void cryo_put_raw_options(struct sock *sk, struct cryo_buf *buf)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		put_ipv6_options(sk, buf);
		return;
	}
#endif
	if (inet_sk(sk)->inet_num == IPPROTO_ICMP)
		cryo_put_sockopt(SOL_RAW, ICMP_FILTER, &raw_sk(sk)->filter,
				 sizeof(raw_sk(sk)->filter), buf);
}

int cryo_save_raw(struct cryo_capture *c, struct cryo_object *o)
{
	struct sock *sk = cryo_sock_of(o);
	bool connected = sk->sk_state == TCP_ESTABLISHED;
	struct cryo_sock_state out = {
		.family = sk->sk_family,
		.type = sk->sk_type,
		.protocol = sk->sk_protocol,
		.state = connected ? CRYO_SOCK_CONNECTED : CRYO_SOCK_UNCONNECTED,
		.shutdown = READ_ONCE(sk->sk_shutdown) & SHUTDOWN_MASK,
		.error = READ_ONCE(sk->sk_err),
	};
	struct cryo_sock_names *names = kzalloc(sizeof(*names), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	/* Raw ones do not remember whether bind(2) has chosen it. */
	if (is_ping(sk) && !(sk->sk_userlocks & SOCK_BINDADDR_LOCK))
		out.flags |= CRYO_SOCK_STATE_ANY_ADDRESS;
	cryo_inet_bind_flags(sk, &out.flags, CRYO_SOCK_STATE_FREEBIND, CRYO_SOCK_STATE_REUSEPORT);
	if (names) {
		cryo_inet_names(sk, names, connected);
		err = cryo_save_sockstate(c, o, &out, names) ?: cryo_save_sockopts(c, o);
	}
	kfree(names);
	return err;
}
