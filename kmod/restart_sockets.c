// SPDX-License-Identifier: GPL-2.0-only
/*
 * restart_sockets.c - what no call sets of a socket
 *
 * What waited in a UDP socket came from senders that nobody can be.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/uaccess.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "compat/ksym.h"
#include "cryo.h"

#define HEADERS		(sizeof(struct ipv6hdr) + sizeof(struct udphdr))
#define LINEAR		2048	/* bytes; more are put into pages */
#define MAX_ERROR	512	/* from there on they are the kernel's own */

static bool is_own(struct sock *sk, int cap)
{
	return uid_eq(sk->sk_uid, current_euid()) ||
	       ns_capable(sock_net(sk)->user_ns, cap);
}

static struct sk_buff *alloc_datagram(u32 length)
{
	u32 paged = length > LINEAR ? length : 0;
	struct sk_buff *skb;
	int err;

	skb = alloc_skb_with_frags(HEADERS + length - paged, paged, 0, &err, GFP_KERNEL_ACCOUNT);
	if (!skb)
		return NULL;
	skb_reserve(skb, HEADERS);
	skb_put(skb, length - paged);
	skb->data_len = paged;
	skb->len += paged;
	return skb;
}

/* Where recvmsg(2) looks for what came with it. */
static void set_ipv4(struct sk_buff *skb, const struct cryo_datagram *args)
{
	struct in_pktinfo *info = PKTINFO_SKB_CB(skb);
	struct iphdr *ip = skb_push(skb, sizeof(*ip));

	memset(ip, 0, sizeof(*ip));
	skb_reset_network_header(skb);
	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->tos = args->tos;
	ip->ttl = args->ttl;
	ip->protocol = IPPROTO_UDP;
	memcpy(&ip->saddr, args->from, sizeof(ip->saddr));
	memcpy(&ip->daddr, args->to, sizeof(ip->daddr));
	skb->protocol = htons(ETH_P_IP);
	info->ipi_ifindex = args->ifindex;
	info->ipi_spec_dst.s_addr = ip->daddr;
	skb_pull(skb, sizeof(*ip));
}

static void set_ipv6(struct sk_buff *skb, const struct cryo_datagram *args)
{
	struct ipv6hdr *ip = skb_push(skb, sizeof(*ip));

	skb_reset_network_header(skb);
	ip6_flow_hdr(ip, args->tos, 0);
	ip->payload_len = 0;
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = args->ttl;
	memcpy(&ip->saddr, args->from, sizeof(ip->saddr));
	memcpy(&ip->daddr, args->to, sizeof(ip->daddr));
	skb->protocol = htons(ETH_P_IPV6);
	IP6CB(skb)->iif = args->ifindex;
	skb_pull(skb, sizeof(*ip));
}

static void set_headers(struct sk_buff *skb, const struct cryo_datagram *args)
{
	struct udphdr *udp = skb_push(skb, sizeof(*udp));

	skb_reset_transport_header(skb);
	udp->source = htons(args->from_port);
	udp->dest = htons(args->to_port);
	udp->len = htons(min_t(u32, args->length + sizeof(*udp), U16_MAX));
	udp->check = 0;
	memset(skb->cb, 0, sizeof(skb->cb));
	if (args->family == AF_INET)
		set_ipv4(skb, args);
	else
		set_ipv6(skb, args);
	skb_pull(skb, sizeof(*udp));
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->skb_iif = args->ifindex;
	skb->tstamp = ns_to_ktime(args->time_ns);
}

static int enqueue(struct sock *sk, const struct cryo_datagram *args, const void *data)
{
	struct sk_buff *skb = alloc_datagram(args->length);
	int err;

	if (!skb)
		return -ENOMEM;
	err = skb_store_bits(skb, 0, data, args->length);
	if (!err) {
		set_headers(skb, args);
		local_bh_disable();
		err = cryo_udp_enqueue(sk, skb);
		local_bh_enable();
	}
	if (err)
		kfree_skb(skb);
	return err == -ENOMEM ? -ENOBUFS : err;
}

static int check_datagram(struct sock *sk, const struct cryo_datagram *args)
{
	bool v6 = sk->sk_family == AF_INET6;

	if (!(v6 || sk->sk_family == AF_INET) || sk->sk_type != SOCK_DGRAM ||
	    sk->sk_protocol != IPPROTO_UDP)
		return -EINVAL;
	if (!is_own(sk, CAP_NET_RAW))
		return -EPERM;
	if (args->error)
		return args->error < MAX_ERROR && !args->length ? 0 : -EINVAL;
	if (args->family != AF_INET && !(args->family == AF_INET6 && v6))
		return -EINVAL;
	return 0;
}

static int put_datagram(struct sock *sk, const struct cryo_datagram *args)
{
	int err = check_datagram(sk, args);
	void *data;

	if (err)
		return err;
	if (args->error) {
		WRITE_ONCE(sk->sk_err, args->error);
		return 0;
	}
	data = vmemdup_user((void __user *)(unsigned long)args->data, args->length);
	if (IS_ERR(data))
		return PTR_ERR(data);
	err = enqueue(sk, args, data);
	kvfree(data);
	return err;
}

long cryo_restart_datagram(void __user *arg)
{
	struct cryo_datagram args;
	struct socket *sock;
	u32 size;
	int err;

	if (get_user(size, (u32 __user *)arg))
		return -EFAULT;
	if (size < offsetofend(struct cryo_datagram, time_ns))
		return -EINVAL;
	err = copy_struct_from_user(&args, sizeof(args), arg, size);
	if (err)
		return err;
	if (args.reserved || args.length > CRYO_MAX_DATAGRAM)
		return -EINVAL;
	sock = sockfd_lookup(args.fd, &err);
	if (!sock)
		return err;
	err = put_datagram(sock->sk, &args);
	sockfd_put(sock);
	return err;
}
