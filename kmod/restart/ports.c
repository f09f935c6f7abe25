// SPDX-License-Identifier: GPL-2.0-only
/*
 * ports.c - ports that connections of an earlier life keep
 *
 * Who closes a TCP connection first keeps its port for a minute (TIME_WAIT); bind(2) gives it to
 * nobody then unless the connection had SO_REUSEADDR. A job that is restarted right after it was
 * killed meets those of its own.
 *
 * The whole table of connections is walked, as by each dump of sock_diag(7), which everybody may
 * ask for, with the same locks.
 */
#include <linux/cred.h>
#include <linux/net.h>
#include <linux/rculist_nulls.h>
#include <linux/uaccess.h>
#include <net/inet_hashtables.h>
#include <net/inet_timewait_sock.h>
#include <net/ip.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include <cryo/ioctl.h>

#include "access/exceptions.h"
#include "lib/args.h"
#include "restart/calls.h"

/* Which connections give their port up, and whether others would have had to. */
struct port_release {
	struct net *net;
	u16 port;
	bool of_all;			/* those in TIME_WAIT, which are nobody's */
	bool refused;
};

/*
 * Nobody has it open any more. Of one in TIME_WAIT nothing tells whose it was: it has no user on
 * any kernel, and that of its port (struct inet_bind_bucket) is kept for SO_REUSEPORT only.
 */
static bool is_left(const struct sock *sk, struct port_release *release)
{
	if (sk->sk_state == TCP_TIME_WAIT) {
		release->refused |= !release->of_all && sk->sk_reuse != SK_CAN_REUSE;
		return release->of_all;
	}
	return sk_fullsock(sk) && sock_flag(sk, SOCK_DEAD) && uid_eq(sk->sk_uid, current_euid());
}

/*
 * As if it had been made with SO_REUSEADDR. Of the bits beside it, nobody is left who would set
 * one.
 */
static void let_reuse(struct inet_hashinfo *hashinfo, unsigned int i, struct port_release *release)
{
	spinlock_t *lock = inet_ehash_lockp(hashinfo, i);
	struct hlist_nulls_node *node;
	struct sock *sk;

	spin_lock_bh(lock);
	sk_nulls_for_each(sk, node, &hashinfo->ehash[i].chain)
		if (sk->sk_num == release->port && net_eq(sock_net(sk), release->net) &&
		    is_left(sk, release))
			sk->sk_reuse = SK_CAN_REUSE;
	spin_unlock_bh(lock);
}

static int release_port(struct sock *sk, u16 port)
{
	struct net *net = sock_net(sk);
	struct inet_hashinfo *hashinfo = net->ipv4.tcp_death_row.hashinfo;
	struct port_release release = { .net = net, .port = port };
	unsigned int i;

	if ((sk->sk_family != AF_INET && sk->sk_family != AF_INET6) || sk->sk_type != SOCK_STREAM ||
	    sk->sk_protocol != IPPROTO_TCP)
		return -EINVAL;
	if (inet_port_requires_bind_service(net, port) &&
	    !ns_capable(net->user_ns, CAP_NET_BIND_SERVICE))
		return -EACCES;
	release.of_all = cryo_exception(CRYO_EXCEPTION_TIME_WAIT_PORTS, net->user_ns);
	for (i = 0; i <= hashinfo->ehash_mask; i++) {
		if (!hlist_nulls_empty(&hashinfo->ehash[i].chain))
			let_reuse(hashinfo, i, &release);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return release.refused ? -EPERM : 0;
}

long cryo_restart_port(void __user *arg)
{
	struct cryo_port args;
	struct socket *sock;
	int err;

	err = cryo_copy_args(&args, sizeof(args), sizeof(args), arg);
	if (err)
		return err;
	if (args.reserved || !args.port || args.port > U16_MAX)
		return -EINVAL;
	sock = sockfd_lookup(args.fd, &err);
	if (!sock)
		return err;
	err = release_port(sock->sk, args.port);
	sockfd_put(sock);
	return err;
}
