// SPDX-License-Identifier: GPL-2.0-only
/*
 * sockopt.c - options of sockets
 *
 * Each option is asked for as getsockopt(2) would, and those that the socket knows
 * are written.  The restart sets those that differ from a new socket's.
 */
#include <linux/bpf.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/inet_sock.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "compat/ksym.h"
#include "compat/udp.h"
#include "lib/buf.h"
#include "save/net.h"
#include "save/net/raw.h"
#include "save/net/sock_filter.h"

/* In the order in which they are set: some need another one. */
static const int socket_names[] = {
	SO_REUSEADDR, SO_REUSEPORT, SO_DONTROUTE, SO_BROADCAST, SO_KEEPALIVE, SO_OOBINLINE,
	SO_NO_CHECK, SO_PRIORITY, SO_MARK, SO_LINGER, SO_RCVTIMEO_OLD, SO_SNDTIMEO_OLD,
	SO_RCVLOWAT, SO_SNDBUF, SO_RCVBUF, SO_BUF_LOCK, SO_PASSCRED, SO_PASSSEC, SO_RXQ_OVFL,
	SO_TIMESTAMP_OLD, SO_TIMESTAMPNS_OLD, SO_BINDTODEVICE, SO_BUSY_POLL, SO_ZEROCOPY,
	SO_PEEK_OFF, SO_MAX_PACING_RATE, SO_DEBUG, SO_SELECT_ERR_QUEUE, SO_WIFI_STATUS,
	SO_TIMESTAMP_NEW, SO_TIMESTAMPNS_NEW, SO_TIMESTAMPING_OLD, SO_TIMESTAMPING_NEW,
	SO_PREFER_BUSY_POLL, SO_TXTIME, SO_RESERVE_MEM, SO_RCVMARK,
#ifdef SO_PASSPIDFD
	SO_PASSPIDFD,
#endif
};

static const int ip_names[] = {
	IP_TOS, IP_TTL, IP_HDRINCL, IP_PKTINFO, IP_RECVTTL, IP_RECVTOS, IP_RECVOPTS, IP_RETOPTS,
	IP_PASSSEC, IP_RECVORIGDSTADDR, IP_CHECKSUM, IP_NODEFRAG, IP_BIND_ADDRESS_NO_PORT,
	IP_MTU_DISCOVER, IP_RECVERR, IP_MULTICAST_TTL, IP_MULTICAST_LOOP, IP_MULTICAST_ALL,
	IP_FREEBIND, IP_TRANSPARENT, IP_MINTTL, IP_UNICAST_IF, IP_RECVFRAGSIZE,
	IP_RECVERR_RFC4884,
#ifdef IP_LOCAL_PORT_RANGE
	IP_LOCAL_PORT_RANGE,
#endif
};

static const int ipv6_names[] = {
	IPV6_V6ONLY, IPV6_RECVPKTINFO, IPV6_RECVHOPLIMIT, IPV6_RECVRTHDR, IPV6_RECVHOPOPTS,
	IPV6_RECVDSTOPTS, IPV6_TCLASS, IPV6_RECVTCLASS, IPV6_RECVPATHMTU, IPV6_TRANSPARENT,
	IPV6_FREEBIND, IPV6_RECVORIGDSTADDR, IPV6_UNICAST_HOPS, IPV6_MULTICAST_HOPS,
	IPV6_MULTICAST_LOOP, IPV6_MTU_DISCOVER, IPV6_RECVERR, IPV6_MINHOPCOUNT, IPV6_DONTFRAG,
	IPV6_AUTOFLOWLABEL, IPV6_UNICAST_IF, IPV6_MULTICAST_IF, IPV6_MULTICAST_ALL,
	IPV6_RECVERR_RFC4884, IPV6_RECVFRAGSIZE, IPV6_FLOWINFO_SEND, IPV6_FLOWINFO,
	IPV6_ADDR_PREFERENCES,
};

static const int tcp_names[] = {
	TCP_NODELAY, TCP_CORK, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_SYNCNT, TCP_LINGER2,
	TCP_DEFER_ACCEPT, TCP_CONGESTION, TCP_THIN_LINEAR_TIMEOUTS, TCP_USER_TIMEOUT,
	TCP_NOTSENT_LOWAT, TCP_INQ, TCP_FASTOPEN, TCP_FASTOPEN_NO_COOKIE, TCP_SAVE_SYN,
	TCP_TX_DELAY, TCP_QUICKACK,
};

static void put_options(struct sock *sk, int level, const int *names, size_t count,
			struct cryo_buf *buf)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct cryo_sockopt out = { .level = level, .name = names[i] };
		int len = sizeof(out.value);

		/* An option that this kind of socket does not have is no error. */
		if (cryo_getsockopt(sk, level, names[i], out.value, &len))
			continue;
		out.length = clamp_t(int, len, 0, sizeof(out.value));
		cryo_buf_put(buf, &out, sizeof(out));
	}
}

void cryo_put_sockopt(int level, int name, const void *value, size_t length,
		      struct cryo_buf *buf)
{
	struct cryo_sockopt out = { .level = level, .name = name, .length = length };

	memcpy(out.value, value, min(length, sizeof(out.value)));
	cryo_buf_put(buf, &out, sizeof(out));
}

/* getsockopt(2) tells less than setsockopt(2) takes. */
static void put_multicast_interface(struct sock *sk, struct cryo_buf *buf)
{
	struct ip_mreqn out = {
		.imr_address.s_addr = READ_ONCE(inet_sk(sk)->mc_addr),
		.imr_ifindex = READ_ONCE(inet_sk(sk)->mc_index),
	};

	if (out.imr_address.s_addr || out.imr_ifindex)
		cryo_put_sockopt(IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof(out), buf);
}

/*
 * Of a connected one getsockopt(2) tells what has become of it, and before that
 * TCP_FASTOPEN_CONNECT can be set only.
 */
static void put_more_of_tcp(struct sock *sk, struct cryo_buf *buf)
{
	static const int unconnected[] = { TCP_FASTOPEN_CONNECT };
	int mss = READ_ONCE(tcp_sk(sk)->rx_opt.user_mss);

	if (mss)
		cryo_put_sockopt(IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss), buf);
	if (sk->sk_state == TCP_CLOSE)
		put_options(sk, IPPROTO_TCP, unconnected, ARRAY_SIZE(unconnected), buf);
}

static void put_options_of_udp(struct sock *sk, struct cryo_buf *buf)
{
	const struct { int name, value; } options[] = {
		{ UDP_CORK, cryo_udp_is_corked(sk) },
		{ UDP_NO_CHECK6_TX, udp_get_no_check6_tx(sk) },
		{ UDP_NO_CHECK6_RX, udp_get_no_check6_rx(sk) },
		{ UDP_SEGMENT, READ_ONCE(udp_sk(sk)->gso_size) },
		{ UDP_GRO, cryo_udp_gathers(sk) },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(options); i++)
		cryo_put_sockopt(IPPROTO_UDP, options[i].name, &options[i].value,
				 sizeof(options[i].value), buf);
}

static void put_options_of(struct sock *sk, struct cryo_buf *buf)
{
	put_options(sk, SOL_SOCKET, socket_names, ARRAY_SIZE(socket_names), buf);
	/* Raw ones of IPv6 have none of IPv4's. */
	if (sk->sk_family == AF_INET || (sk->sk_family == AF_INET6 && !cryo_is_raw(sk))) {
		put_options(sk, IPPROTO_IP, ip_names, ARRAY_SIZE(ip_names), buf);
		put_multicast_interface(sk, buf);
	}
	if (sk->sk_family == AF_INET6)
		put_options(sk, IPPROTO_IPV6, ipv6_names, ARRAY_SIZE(ipv6_names), buf);
	if (sk->sk_protocol == IPPROTO_TCP && sk->sk_family != AF_UNIX &&
	    sk->sk_type == SOCK_STREAM) {
		put_options(sk, IPPROTO_TCP, tcp_names, ARRAY_SIZE(tcp_names), buf);
		put_more_of_tcp(sk, buf);
	}
	if (sk->sk_protocol == IPPROTO_UDP && sk->sk_family != AF_UNIX && sk->sk_type == SOCK_DGRAM)
		put_options_of_udp(sk, buf);
	if (cryo_is_raw(sk))
		cryo_put_raw_options(sk, buf);
	if (sk->sk_family == AF_NETLINK)
		cryo_put_netlink_options(sk, buf);
}

/*
 * As by a BPF program that has the socket locked: then the functions behind getsockopt(2) do not
 * lock it themselves, for which they would wait without end. Where there are no such programs they
 * do.
 */
static int put_all_options(struct cryo_capture *c, struct cryo_object *o, struct sock *sk,
			   struct cryo_buf *buf)
{
#ifdef CONFIG_BPF_SYSCALL
	struct bpf_run_ctx ctx, *old;
	int err = cryo_sock_lock(c, o, sk);

	if (err)
		return err;
	old = bpf_set_run_ctx(&ctx);
	put_options_of(sk, buf);
	bpf_reset_run_ctx(old);
	cryo_sock_unlock(sk);
#else
	put_options_of(sk, buf);
#endif
	return 0;
}

int cryo_save_sockopts(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_array head = { .record_size = sizeof(struct cryo_sockopt) };
	struct sock *sk = cryo_sock_of(o);
	struct cryo_buf buf = {};
	int err;

	/*
	 * One that nobody has accepted lacks its half, which these functions look at, and will take
	 * its listener's options. Not asked of its sk_socket: others who have the listener may
	 * accept and close it any time.
	 */
	if (o->sk)
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	err = put_all_options(c, o, sk, &buf);
	if (err) {
		cryo_buf_free(&buf);
		return err;
	}
	if (!buf.error)
		((struct cryo_array *)buf.data)->count =
			(buf.len - sizeof(head)) / sizeof(struct cryo_sockopt);
	return cryo_stream_buf(&c->stream, CRYO_SEC_SOCKOPTS, o->id, sizeof(head), &buf) ?:
	       cryo_save_sock_filter(c, o) ?: cryo_save_sock_groups(c, o) ?:
	       cryo_save_sock_devices(c, o);
}
