// SPDX-License-Identifier: GPL-2.0-only
/* save_socket.c - listening sockets (TCP over IPv4 and IPv6, Unix stream with a path) */
#include <linux/net.h>
#include <net/inet_sock.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <net/ipv6.h>
#include <linux/un.h>

#include "cryo.h"

/* A listening socket with nothing waiting in its queue. */
bool cryo_socket_savable(struct file *file)
{
	struct socket *sock = sock_from_file(file);
	struct sock *sk = sock ? sock->sk : NULL;

	if (!sk || sock->type != SOCK_STREAM || sk->sk_state != TCP_LISTEN)
		return false;
	if (sk->sk_family != AF_UNIX && sk->sk_family != AF_INET && sk->sk_family != AF_INET6)
		return false;
	if (sk->sk_family != AF_UNIX && sk->sk_protocol != IPPROTO_TCP)
		return false;
	return !READ_ONCE(sk->sk_ack_backlog) && skb_queue_empty_lockless(&sk->sk_receive_queue);
}

int cryo_save_socket(struct cryo_capture *c, struct cryo_object *o)
{
	struct socket *sock = sock_from_file(o->file);
	struct sock *sk = sock->sk;
	struct sockaddr_storage addr = {};
	struct cryo_buf buf = {};
	struct cryo_socket out = {
		.family = sk->sk_family,
		.type = sock->type,
		.protocol = sk->sk_protocol,
		.backlog = READ_ONCE(sk->sk_max_ack_backlog),
	};
	int len = kernel_getsockname(sock, (struct sockaddr *)&addr);

	if (len < 0)
		return len;
	if (sk->sk_reuse)
		out.flags |= CRYO_SOCK_REUSEADDR;
	if (sk->sk_reuseport)
		out.flags |= CRYO_SOCK_REUSEPORT;
	if (sk->sk_family == AF_INET6 && sk->sk_ipv6only)
		out.flags |= CRYO_SOCK_V6ONLY;
	cryo_buf_put(&buf, &out, sizeof(out));
	cryo_buf_put(&buf, &addr, min_t(size_t, len, sizeof(addr)));
	return cryo_stream_buf(&c->stream, CRYO_SEC_SOCKET, o->id, sizeof(out), &buf);
}
