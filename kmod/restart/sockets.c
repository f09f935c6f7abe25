// SPDX-License-Identifier: GPL-2.0-only
/*
 * sockets.c - what no call sets of a socket
 *
 * Who is at the other end of a Unix socket is noted when it is connected, which is before the
 * processes of the job exist; and what waited in a UDP socket came from senders that nobody can be.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/skbuff.h>
#include <linux/uaccess.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include <cryo/ioctl.h>

#include "access/access.h"
#include "access/exceptions.h"
#include "compat/ksym.h"
#include "lib/args.h"
#include "restart/calls.h"
#include "save/net.h"

#define HEADERS		(sizeof(struct ipv6hdr) + sizeof(struct udphdr))
#define LINEAR		2048	/* bytes; more are put into pages */
#define MAX_ERROR	512	/* from there on they are the kernel's own */

/* ---- CRYO_RST_PEER_PID: see exceptions.c ---- */

/*
 * The caller's, or who restarts': who is in a user namespace of the job has sockets of the user
 * that has made that, whom he cannot become there.
 */
static bool is_own(const struct cryo_restarter *by, struct sock *sk)
{
	struct user_namespace *ns = sock_net(sk)->user_ns;

	return uid_eq(sk->sk_uid, current_euid()) || uid_eq(sk->sk_uid, by->cred->euid) ||
	       ns_capable(ns, CAP_NET_ADMIN) || cryo_maker_capable(by->cred, ns, CAP_NET_ADMIN);
}

/*
 * A process that the restart has made, and of which the caller, or who restarts, may read: it has
 * no more rights than he has, and he could have had it make the connection when he made it. (The
 * caller may be in a user namespace of the job, and the process outside of it.) Not "may trace":
 * Yama keeps ordinary users from that even where a process is their own.
 */
static int may_name(const struct cryo_restarter *by, struct pid *pid)
{
	struct task_struct *task = get_pid_task(pid, PIDTYPE_TGID);
	bool may;

	if (!task)
		return -ESRCH;
	may = cryo_is_descendant(by->coordinator, task) &&
	      (cryo_may_read_as(current_cred(), task) || cryo_may_read_as(by->cred, task));
	put_task_struct(task);
	return may ? 0 : -EPERM;
}

/*
 * What the kernel has noted at one end of a connection is who made the other: who called connect(),
 * socketpair() or listen(). A socket that has not been accepted yet has no user of its own.
 */
static bool is_other_end_own(const struct cryo_restarter *by, struct sock *sk)
{
	const struct cred *cred;
	bool is = true;

	spin_lock(&sk->sk_peer_lock);
	cred = sk->sk_peer_cred;
	if (cred)
		is = uid_eq(cred->euid, current_euid()) || uid_eq(cred->euid, by->cred->euid) ||
		     ns_capable(cred->user_ns, CAP_SYS_ADMIN) ||
		     cryo_maker_capable(by->cred, cred->user_ns, CAP_SYS_ADMIN);
	spin_unlock(&sk->sk_peer_lock);
	return is;
}

/*
 * Nobody else's, neither it nor what is at its other end; nor one that others read from which is
 * not connected.
 */
static int check_other_end(const struct cryo_restarter *by, struct sock *peer)
{
	if (peer->sk_type == SOCK_DGRAM)
		return -EINVAL;
	if (READ_ONCE(peer->sk_socket) && !is_own(by, peer))
		return -EPERM;
	return is_other_end_own(by, peer) ? 0 : -EPERM;
}

/* Takes over @pid. */
static void swap_peer_pid(struct sock *sk, struct pid *pid)
{
	struct pid *old;

	spin_lock(&sk->sk_peer_lock);
	old = sk->sk_peer_pid;
	sk->sk_peer_pid = pid;
	spin_unlock(&sk->sk_peer_lock);
	put_pid(old);
}

/* Of @sk, or of what is at its other end. Counted. */
static struct sock *socket_to_name(const struct cryo_restarter *by, struct sock *sk, u32 flags)
{
	struct sock *peer;
	int err;

	if (sk->sk_family != AF_UNIX)
		return ERR_PTR(-EINVAL);
	if (!is_own(by, sk) || !is_other_end_own(by, sk))
		return ERR_PTR(-EPERM);
	if (!(flags & CRYO_PEER_PID_OTHER_END)) {
		sock_hold(sk);
		return sk;
	}
	peer = cryo_unix_peer_get(sk);
	if (!peer)
		return ERR_PTR(-ENOTCONN);
	err = check_other_end(by, peer);
	if (!err)
		return peer;
	sock_put(peer);
	return ERR_PTR(err);
}

static int set_peer_pid(const struct cryo_restarter *by, struct sock *sk,
			const struct cryo_peer_pid *args)
{
	struct pid *pid = NULL;
	int err = 0;

	sk = socket_to_name(by, sk, args->flags);
	if (IS_ERR(sk))
		return PTR_ERR(sk);
	if (args->pid) {
		pid = find_get_pid(args->pid);
		err = pid ? may_name(by, pid) : -ESRCH;
	}
	if (err)
		put_pid(pid);
	else
		swap_peer_pid(sk, pid);
	sock_put(sk);
	return err;
}

long cryo_restart_peer_pid(const struct cryo_restarter *by, void __user *arg)
{
	struct cryo_peer_pid args;
	struct socket *sock;
	int err;

	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_peer_pid, flags), arg);
	if (err)
		return err;
	if (args.flags & ~CRYO_PEER_PID_OTHER_END || args.pid < 0)
		return -EINVAL;
	if (!cryo_exception(CRYO_EXCEPTION_PEER_PID, task_active_pid_ns(current)->user_ns))
		return -EPERM;
	sock = sockfd_lookup(args.fd, &err);
	if (!sock)
		return err;
	err = set_peer_pid(by, sock->sk, &args);
	sockfd_put(sock);
	return err;
}

/* ---- CRYO_RST_DATAGRAM: see exceptions.c ---- */

/*
 * Nobody else has the socket: its file has one descriptor, beside the reference that is held here,
 * and the caller's table is his alone. Who gets it from him afterwards gets one that he has filled,
 * as he could have done in a network of his own.
 */
static bool is_sole_owner(const struct socket *sock)
{
	return file_count(sock->file) <= 2 && atomic_read(&current->files->count) == 1;
}

static int may_fill(const struct socket *sock)
{
	struct user_namespace *ns = sock_net(sock->sk)->user_ns;

	if (cryo_exception_capable(CRYO_EXCEPTION_DATAGRAMS, ns))
		return 0;
	if (!uid_eq(sock->sk->sk_uid, current_euid()) ||
	    !cryo_exception(CRYO_EXCEPTION_DATAGRAMS, ns))
		return -EPERM;
	return is_sole_owner(sock) ? 0 : -EBUSY;
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

static int enqueue_datagram(struct sock *sk, const struct cryo_datagram *args, const void *data)
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

static int check_datagram(const struct socket *sock, const struct cryo_datagram *args)
{
	const struct sock *sk = sock->sk;
	bool v6 = sk->sk_family == AF_INET6;
	int err;

	if (!(v6 || sk->sk_family == AF_INET) || sk->sk_type != SOCK_DGRAM ||
	    sk->sk_protocol != IPPROTO_UDP)
		return -EINVAL;
	err = may_fill(sock);
	if (err)
		return err;
	if (args->error)
		return args->error < MAX_ERROR && !args->length ? 0 : -EINVAL;
	if (args->family != AF_INET && !(args->family == AF_INET6 && v6))
		return -EINVAL;
	return 0;
}

static int queue_datagram(struct socket *sock, const struct cryo_datagram *args)
{
	int err = check_datagram(sock, args);
	void *data;

	if (err)
		return err;
	if (args->error) {
		WRITE_ONCE(sock->sk->sk_err, args->error);
		return 0;
	}
	data = cryo_copy_data(args->data, args->length);
	if (IS_ERR(data))
		return PTR_ERR(data);
	err = enqueue_datagram(sock->sk, args, data);
	kvfree(data);
	return err;
}

long cryo_restart_datagram(void __user *arg)
{
	struct cryo_datagram args;
	struct socket *sock;
	int err;

	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_datagram, time_ns), arg);
	if (err)
		return err;
	if (args.reserved || args.length > CRYO_MAX_DATAGRAM)
		return -EINVAL;
	sock = sockfd_lookup(args.fd, &err);
	if (!sock)
		return err;
	err = queue_datagram(sock, &args);
	sockfd_put(sock);
	return err;
}
