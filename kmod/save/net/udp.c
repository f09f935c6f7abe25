// SPDX-License-Identifier: GPL-2.0-only
/*
 * udp.c - UDP sockets
 *
 * Each stands alone: what others have sent it and it has not read is saved with where it came from,
 * which need not be in the scope.
 */
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "lib/buf.h"
#include "save/net.h"
#include "save/net/raw.h"

const char *cryo_udp_obstacle(struct cryo_object *o)
{
	struct sock *sk = cryo_sock_of(o);

	if (READ_ONCE(udp_sk(sk)->pending))
		return "datagram that is being put together (UDP_CORK, MSG_MORE)";
	if (READ_ONCE(udp_sk(sk)->encap_type) || READ_ONCE(udp_sk(sk)->encap_rcv))
		return "UDP socket with a protocol on top of it in the kernel";
	if (cryo_has_ip_options(sk))
		return "UDP socket with IP options or extension headers";
	if (!skb_queue_empty_lockless(&sk->sk_error_queue))
		return "UDP socket with messages in its error queue";
	return NULL;
}

static void set_origin(const struct sk_buff *skb, struct cryo_udp_origin *out)
{
	out->from_port = ntohs(udp_hdr(skb)->source);
	out->to_port = ntohs(udp_hdr(skb)->dest);
	out->ifindex = skb->skb_iif;
	out->time_ns = ktime_to_ns(skb->tstamp);
	if (skb->protocol == htons(ETH_P_IP)) {
		out->family = AF_INET;
		memcpy(out->from, &ip_hdr(skb)->saddr, sizeof(__be32));
		memcpy(out->to, &ip_hdr(skb)->daddr, sizeof(__be32));
		out->tos = ip_hdr(skb)->tos;
		out->ttl = ip_hdr(skb)->ttl;
	} else {
		out->family = AF_INET6;
		memcpy(out->from, &ipv6_hdr(skb)->saddr, sizeof(struct in6_addr));
		memcpy(out->to, &ipv6_hdr(skb)->daddr, sizeof(struct in6_addr));
		out->tos = ipv6_get_dsfield(ipv6_hdr(skb));
		out->ttl = ipv6_hdr(skb)->hop_limit;
	}
}

static int put_datagram(struct cryo_capture *c, struct cryo_object *o, struct sk_buff *skb,
			struct cryo_buf *buf)
{
	struct cryo_udp_origin origin = {};
	struct cryo_sock_message head = { .length = skb->len, .name_len = sizeof(origin) };

	/* Damaged on its way: nobody would have read it. */
	if (!skb_csum_unnecessary(skb) && __skb_checksum_complete(skb))
		return 0;
	if (skb_is_gso(skb)) {
		cryo_refuse(c, o->proc, "fd %d (socket): aggregated datagrams (UDP_GRO) are queued in it",
			    o->fd >= 0 ? o->fd : o->carrier);
		return 0;
	}
	set_origin(skb, &origin);
	cryo_buf_put(buf, &head, sizeof(head));
	cryo_buf_put(buf, &origin, sizeof(origin));
	return cryo_queue_bytes(buf, skb, 0, skb->len);
}

static int put_queue(struct cryo_capture *c, struct cryo_object *o, struct sk_buff_head *queue,
		     struct cryo_buf *buf)
{
	struct cryo_skbs skbs = {};
	unsigned int i;
	int err = cryo_skbs_take(queue, &skbs);

	for (i = 0; !err && i < skbs.n; i++)
		err = put_datagram(c, o, skbs.skb[i], buf);
	cryo_skbs_drop(&skbs);
	return err;
}

/* Readers take from a queue of their own, which they fill from the other one. */
static int save_udp_queue(struct cryo_capture *c, struct cryo_object *o)
{
	struct sock *sk = cryo_sock_of(o);
	struct cryo_buf buf = {};
	int err;

	cryo_queue_begin(&buf);
	err = put_queue(c, o, &udp_sk(sk)->reader_queue, &buf) ?:
	      put_queue(c, o, &sk->sk_receive_queue, &buf);
	return cryo_queue_end(c, o, &buf, err);
}

int cryo_save_udp(struct cryo_capture *c, struct cryo_object *o)
{
	struct sock *sk = cryo_sock_of(o);
	bool connected = sk->sk_state == TCP_ESTABLISHED;
	struct cryo_sock_state out = {
		.family = sk->sk_family,
		.type = SOCK_DGRAM,
		.protocol = IPPROTO_UDP,
		.state = connected ? CRYO_SOCK_CONNECTED : CRYO_SOCK_UNCONNECTED,
		.shutdown = READ_ONCE(sk->sk_shutdown) & SHUTDOWN_MASK,
		.error = READ_ONCE(sk->sk_err),
	};
	struct cryo_sock_names *names = kzalloc(sizeof(*names), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!(sk->sk_userlocks & SOCK_BINDADDR_LOCK))
		out.flags |= CRYO_SOCK_STATE_ANY_ADDRESS;
	cryo_inet_bind_flags(sk, &out.flags, CRYO_SOCK_STATE_FREEBIND, CRYO_SOCK_STATE_REUSEPORT);
	if (names) {
		cryo_inet_names(sk, names, connected);
		err = cryo_save_sockstate(c, o, &out, names) ?: cryo_save_sockopts(c, o) ?:
		      save_udp_queue(c, o);
	}
	kfree(names);
	return err;
}
