/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * net/inet_hashtables.h: the table of connections is the namespace's own since v6.18 cb16f4b6c73d.
 */
#ifndef CRYO_COMPAT_INET_LOOKUP_H
#define CRYO_COMPAT_INET_LOOKUP_H

#include <linux/version.h>
#include <net/inet_hashtables.h>
#include <net/inet6_hashtables.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>

static inline bool cryo_is_ipv4(struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	return sk->sk_family == AF_INET || ipv6_addr_v4mapped(&sk->sk_v6_daddr);
#else
	return true;
#endif
}

/* With rcu_read_lock(): what is found may be about to be freed. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
static inline struct sock *cryo_tcp_find_peer(struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

#if IS_ENABLED(CONFIG_IPV6)
	if (!cryo_is_ipv4(sk))
		return __inet6_lookup_established(sock_net(sk), &sk->sk_v6_rcv_saddr,
						  inet->inet_sport, &sk->sk_v6_daddr,
						  ntohs(inet->inet_dport), 0, 0);
#endif
	return __inet_lookup_established(sock_net(sk), sk->sk_rcv_saddr, inet->inet_sport,
					 sk->sk_daddr, ntohs(inet->inet_dport), 0, 0);
}
#else
static inline struct sock *cryo_tcp_find_peer(struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct net *net = sock_net(sk);
	struct inet_hashinfo *table = net->ipv4.tcp_death_row.hashinfo;

#if IS_ENABLED(CONFIG_IPV6)
	if (!cryo_is_ipv4(sk))
		return __inet6_lookup_established(net, table, &sk->sk_v6_rcv_saddr,
						  inet->inet_sport, &sk->sk_v6_daddr,
						  ntohs(inet->inet_dport), 0, 0);
#endif
	return __inet_lookup_established(net, table, sk->sk_rcv_saddr, inet->inet_sport,
					 sk->sk_daddr, ntohs(inet->inet_dport), 0, 0);
}
#endif

/* The other end of a connection, when it is on this machine: counted, sock_gen_put(). */
static inline struct sock *cryo_tcp_peer(struct sock *sk)
{
	struct sock *peer;

	rcu_read_lock();
	peer = cryo_tcp_find_peer(sk);
	rcu_read_unlock();
	return peer;
}

#endif
