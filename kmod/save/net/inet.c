// SPDX-License-Identifier: GPL-2.0-only
/* inet.c - addresses of IPv4 and IPv6 sockets */
#include <linux/igmp.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "save/net.h"
#include "save/net/raw.h"

/*
 * Not one of the machine's, nor of many machines: bind(2) has taken it by IP_FREEBIND or
 * IP_TRANSPARENT, set then.
 */
static bool is_foreign(struct sock *sk)
{
	unsigned int type;

#if IS_REACHABLE(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_rcv_saddr))
		return !ipv6_addr_any(&sk->sk_v6_rcv_saddr) &&
		       !ipv6_addr_is_multicast(&sk->sk_v6_rcv_saddr) &&
		       !ipv6_chk_addr(sock_net(sk), &sk->sk_v6_rcv_saddr, NULL, 0);
#endif
	if (!sk->sk_rcv_saddr)
		return false;
	type = inet_addr_type(sock_net(sk), sk->sk_rcv_saddr);
	return type != RTN_LOCAL && type != RTN_MULTICAST && type != RTN_BROADCAST;
}

/* What it took to bind it, or to let it listen, whatever its options say now. */
void cryo_inet_bind_flags(struct sock *sk, u32 *flags, u32 freebind, u32 reuseport)
{
	if (is_foreign(sk))
		*flags |= freebind;
	if (sk->sk_reuseport || rcu_access_pointer(sk->sk_reuseport_cb))
		*flags |= reuseport;
}

bool cryo_has_ip_options(struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && rcu_access_pointer(inet6_sk(sk)->opt))
		return true;
#endif
	return rcu_access_pointer(inet_sk(sk)->inet_opt);
}

/* As getsockname(2) and, when @connected, getpeername(2) tell them; sockets without a file too. */
void cryo_inet_names(struct sock *sk, struct cryo_sock_names *names, bool connected)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (sk->sk_family == AF_INET) {
		struct sockaddr_in *name = (void *)&names->name, *peer = (void *)&names->peer;

		name->sin_family = AF_INET;
		name->sin_addr.s_addr = sk->sk_rcv_saddr;
		name->sin_port = inet->inet_sport;
		names->len = sizeof(*name);
		peer->sin_family = AF_INET;
		peer->sin_addr.s_addr = sk->sk_daddr;
		peer->sin_port = inet->inet_dport;
		names->peer_len = connected ? sizeof(*peer) : 0;
#if IS_ENABLED(CONFIG_IPV6)
	} else {
		struct sockaddr_in6 *name = (void *)&names->name, *peer = (void *)&names->peer;

		name->sin6_family = AF_INET6;
		name->sin6_addr = sk->sk_v6_rcv_saddr;
		name->sin6_port = inet->inet_sport;
		name->sin6_scope_id = ipv6_iface_scope_id(&name->sin6_addr, sk->sk_bound_dev_if);
		names->len = sizeof(*name);
		peer->sin6_family = AF_INET6;
		peer->sin6_addr = sk->sk_v6_daddr;
		peer->sin6_port = inet->inet_dport;
		peer->sin6_scope_id = ipv6_iface_scope_id(&peer->sin6_addr, sk->sk_bound_dev_if);
		names->peer_len = connected ? sizeof(*peer) : 0;
#endif
	}
}
