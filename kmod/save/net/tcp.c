// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp.c - TCP connections with both ends in the context
 *
 * What one end has sent and the other one has not read lies in three places: in the
 * reader's queue, on its way, and in the sender's queues until it is acknowledged.
 * The network goes on while processes are parked; so the sender's queues are copied
 * first, and of them is taken what the reader, looked at later, has not got.
 */
#include <linux/inetdevice.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/addrconf.h>
#include <net/inet_connection_sock.h>
#include <net/inet_sock.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/tcp.h>

#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "compat/inet_lookup.h"
#include "lib/buf.h"
#include "request/connections.h"
#include "save/net.h"

/*
 * The other end, counted, if it has a socket, or waits in a queue for one (@dead: if it has none
 * any more).
 */
static struct sock *end_get(struct sock *sk, bool dead)
{
	struct sock *peer = cryo_tcp_peer(sk);

	if (!peer)
		return NULL;
	if (sk_fullsock(peer) && sock_flag(peer, SOCK_DEAD) == dead)
		return peer;
	sock_gen_put(peer);
	return NULL;
}

static struct sock *peer_get(struct sock *sk)
{
	return end_get(sk, false);
}

/*
 * Closed on this machine, with bytes that have not arrived yet: the kernel still sends them, and
 * nobody adds to them.
 */
static struct sock *orphan_get(struct sock *sk)
{
	return end_get(sk, true);
}

static bool is_local(struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (!cryo_is_ipv4(sk))
		return ipv6_chk_addr(sock_net(sk), &sk->sk_v6_daddr, NULL, 0);
#endif
	return inet_addr_type(sock_net(sk), sk->sk_daddr) == RTN_LOCAL;
}

/* Was connected, and is not any more. */
static bool is_over(struct sock *sk)
{
	return sk->sk_state == TCP_CLOSE &&
	       (READ_ONCE(sk->sk_shutdown) || READ_ONCE(sk->sk_err));
}

/* Nobody is left at the other end: it has closed, and was on this machine. */
static bool is_left_alone(struct sock *sk)
{
	struct sock *orphan;

	if (is_over(sk))
		return true;
	orphan = orphan_get(sk);
	if (orphan)
		sock_gen_put(orphan);
	return orphan || (is_local(sk) && (1 << sk->sk_state) &
			  (TCPF_CLOSE_WAIT | TCPF_LAST_ACK | TCPF_CLOSING | TCPF_FIN_WAIT2));
}

/* ---- collect ---- */

/* Connections that wait are chained in the listening socket, under a spinlock. */
static unsigned int take_waiting(struct sock *sk, struct sock **to, unsigned int room)
{
	struct request_sock_queue *queue = &inet_csk(sk)->icsk_accept_queue;
	struct request_sock *req;
	unsigned int n = 0;

	spin_lock_bh(&queue->rskq_lock);
	for (req = queue->rskq_accept_head; req; req = req->dl_next) {
		if (n < room) {
			to[n] = req->sk;
			sock_hold(req->sk);
		}
		n++;
	}
	spin_unlock_bh(&queue->rskq_lock);
	return n;
}

static int collect_waiting_tcp(struct cryo_capture *c, struct cryo_object *o, struct sock **waiting,
			       unsigned int room, unsigned int *n)
{
	unsigned int i;
	int err = 0;

	*n = take_waiting(cryo_sock_of(o), waiting, room);
	for (i = 0; i < min(*n, room); i++) {
		if (!err && *n <= room && !cryo_object_waiting(c, waiting[i], o))
			err = -ENOMEM;
		sock_put(waiting[i]);
	}
	return err;
}

/* Those that call do not stop for us: leave room for some more. */
int cryo_collect_tcp(struct cryo_capture *c, struct cryo_object *o)
{
	unsigned int n = READ_ONCE(cryo_sock_of(o)->sk_ack_backlog), room;
	struct sock **waiting;
	int err;

	if (!n)
		return 0;
	do {
		room = n + 16;
		waiting = kvcalloc(room, sizeof(*waiting), GFP_KERNEL_ACCOUNT);
		if (!waiting)
			return -ENOMEM;
		err = collect_waiting_tcp(c, o, waiting, room, &n);
		kvfree(waiting);
	} while (!err && n > room);
	return err;
}

/* ---- check ---- */

bool cryo_tcp_is_whole(struct cryo_capture *c, struct cryo_object *o)
{
	struct sock *sk = cryo_sock_of(o), *peer;
	bool whole;

	if (sk->sk_state == TCP_CLOSE || o->calling)
		return true;
	peer = peer_get(sk);
	if (!peer)
		return is_left_alone(sk);
	whole = cryo_object_of_sock(c, peer);
	sock_gen_put(peer);
	return whole;
}

void cryo_tcp_peer_holder(struct cryo_capture *c, struct cryo_object *o, char *buf, size_t size)
{
	struct sock *peer = peer_get(cryo_sock_of(o));

	strscpy(buf, "another machine or network namespace", size);
	if (!peer)
		return;
	cryo_describe_holder(c, peer, buf, size);
	sock_gen_put(peer);
}

/* "10.0.0.1:80 and 10.0.0.2:4711" */
void cryo_tcp_addresses(struct cryo_object *o, char *buf, size_t size)
{
	struct sock *sk = cryo_sock_of(o);
	u16 sport = ntohs(inet_sk(sk)->inet_sport), dport = ntohs(inet_sk(sk)->inet_dport);

#if IS_ENABLED(CONFIG_IPV6)
	if (!cryo_is_ipv4(sk)) {
		snprintf(buf, size, "[%pI6c]:%u and [%pI6c]:%u", &sk->sk_v6_rcv_saddr, sport,
			 &sk->sk_v6_daddr, dport);
		return;
	}
#endif
	snprintf(buf, size, "%pI4:%u and %pI4:%u", &sk->sk_rcv_saddr, sport, &sk->sk_daddr, dport);
}

static bool is_connecting(const struct sock *sk)
{
	int state = READ_ONCE(sk->sk_state);

	return state == TCP_SYN_SENT || state == TCP_SYN_RECV;
}

/*
 * Nobody has answered yet, and nothing has been sent along (TCP_FASTOPEN): the restart calls again.
 */
static bool is_calling(const struct sock *sk)
{
	return READ_ONCE(sk->sk_state) == TCP_SYN_SENT && !tcp_sk(sk)->fastopen_req &&
	       !tcp_sk(sk)->syn_data;
}

/*
 * This end has been told that the connection is made, and the listening socket at the other end
 * does not have it yet: it waits for bytes (TCP_DEFER_ACCEPT), or has no room.
 */
bool cryo_tcp_deferred(struct sock *sk)
{
	struct sock *peer;
	bool deferred;

	if (READ_ONCE(sk->sk_state) != TCP_ESTABLISHED)
		return false;
	peer = cryo_tcp_peer(sk);
	if (!peer)
		return false;
	deferred = peer->sk_state == TCP_NEW_SYN_RECV;
	sock_gen_put(peer);
	return deferred;
}

bool cryo_tcp_unsettled(struct sock *sk)
{
	return (sk->sk_family == AF_INET || sk->sk_family == AF_INET6) &&
	       sk->sk_type == SOCK_STREAM && sk->sk_protocol == IPPROTO_TCP &&
	       (is_connecting(sk) || cryo_tcp_deferred(sk));
}

const char *cryo_tcp_obstacle(struct cryo_object *o)
{
	struct sock *sk = cryo_sock_of(o);

	o->calling = is_calling(sk);
	if (!o->calling && is_connecting(sk))
		return "connection that is being made";
	if (inet_csk(sk)->icsk_ulp_ops)
		return "connection with a protocol on top of TCP in the kernel (TLS)";
	if (tcp_sk(sk)->urg_data)
		return "urgent data (MSG_OOB) in a connection";
	if (tcp_sk(sk)->repair)
		return "connection under repair (TCP_REPAIR)";
	return NULL;
}

/* ---- save ---- */

struct tcp_sent {
	struct cryo_buf bytes;
	u32 seq;		/* of the first one */
	bool any;
};

static int put_sent(struct tcp_sent *s, const struct sk_buff *skb)
{
	void *to;

	if (!skb->len)
		return 0;
	if (!s->any)
		s->seq = TCP_SKB_CB(skb)->seq + !!(TCP_SKB_CB(skb)->tcp_flags & TCPHDR_SYN);
	s->any = true;
	to = cryo_buf_add(&s->bytes, skb->len);
	return to ? skb_copy_bits(skb, 0, to, skb->len) : s->bytes.error;
}

/* All that @sk, the peer of @o, has in its queues. */
static int copy_sent(struct cryo_capture *c, struct cryo_object *o, struct sock *sk,
		     struct tcp_sent *s)
{
	struct sk_buff *skb;
	int err = cryo_sock_lock(c, o, sk);

	if (err)
		return err;
	for (skb = skb_rb_first(&sk->tcp_rtx_queue); !err && skb; skb = skb_rb_next(skb))
		err = put_sent(s, skb);
	skb_queue_walk(&sk->sk_write_queue, skb) {
		if (err)
			break;
		err = put_sent(s, skb);
	}
	cryo_sock_unlock(sk);
	return err;
}

static int put_part(struct cryo_buf *buf, const struct sk_buff *skb, u32 offset, u32 length)
{
	struct cryo_sock_message head = { .length = length };

	cryo_buf_put(buf, &head, sizeof(head));
	return cryo_queue_bytes(buf, skb, offset, length);
}

/* What the socket of @o has received and not read; returns in @next what it expects. */
static int put_received(struct cryo_capture *c, struct cryo_object *o, struct cryo_buf *buf,
			u32 *next)
{
	struct sock *sk = cryo_sock_of(o);
	int err = cryo_sock_lock(c, o, sk);
	struct sk_buff *skb;
	u32 seq, offset;

	if (err)
		return err;
	seq = tcp_sk(sk)->copied_seq;
	*next = tcp_sk(sk)->rcv_nxt;
	skb_queue_walk(&sk->sk_receive_queue, skb) {
		offset = seq - TCP_SKB_CB(skb)->seq;
		if (TCP_SKB_CB(skb)->tcp_flags & TCPHDR_SYN)
			offset--;
		if (offset >= skb->len)
			continue;
		err = put_part(buf, skb, offset, skb->len - offset);
		if (err)
			break;
		seq += skb->len - offset;
	}
	cryo_sock_unlock(sk);
	return err;
}

static int put_underway(struct cryo_buf *buf, const struct tcp_sent *s, u32 next)
{
	struct cryo_sock_message head = {};
	u32 skip = next - s->seq;

	if (!s->any || skip >= s->bytes.len)
		return 0;
	head.length = s->bytes.len - skip;
	cryo_buf_put(buf, &head, sizeof(head));
	cryo_buf_put(buf, s->bytes.data + skip, head.length);
	if (buf->error)
		return buf->error;
	((struct cryo_sock_queue *)buf->data)->messages++;
	((struct cryo_sock_queue *)buf->data)->bytes += head.length;
	return 0;
}

static int save_tcp_queue(struct cryo_capture *c, struct cryo_object *o, struct sock *peer)
{
	struct cryo_buf buf = {};
	struct tcp_sent sent = {};
	u32 next = 0;
	int err = 0;

	cryo_queue_begin(&buf);
	if (peer)
		err = copy_sent(c, o, peer, &sent);
	err = err ?: sent.bytes.error ?: put_received(c, o, &buf, &next) ?:
	      put_underway(&buf, &sent, next);
	cryo_buf_free(&sent.bytes);
	return cryo_queue_end(c, o, &buf, err);
}

static void describe_state(struct cryo_capture *c, struct cryo_object *o, struct sock *peer,
			   struct cryo_sock_state *out)
{
	struct sock *sk = cryo_sock_of(o);
	struct cryo_object *other = peer ? cryo_object_of_sock(c, peer) : NULL;

	/* Also when it has been answered since: no process has been told. */
	if (o->calling && sk->sk_state != TCP_CLOSE) {
		out->state = CRYO_SOCK_CONNECTING;
		if (sk->sk_userlocks & (SOCK_BINDADDR_LOCK | SOCK_BINDPORT_LOCK))
			out->flags |= CRYO_SOCK_STATE_BOUND;
	} else if (other) {
		out->state = CRYO_SOCK_CONNECTED;
		out->peer = other->id;
	} else if (sk->sk_state != TCP_CLOSE) {
		out->state = peer || !is_left_alone(sk) ? CRYO_SOCK_RESET : CRYO_SOCK_PEER_GONE;
	} else if (is_over(sk)) {
		out->state = CRYO_SOCK_PEER_GONE;
	}
}

/* All of its references are the job's. */
static bool is_the_jobs(const struct cryo_object *o)
{
	return !o->file || (unsigned long)file_count(o->file) <= o->refs;
}

static void note_connection(struct cryo_capture *c, struct cryo_object *o, struct sock *peer)
{
	struct cryo_object *other = cryo_object_of_sock(c, peer);

	if (other && is_the_jobs(o) && is_the_jobs(other))
		cryo_connection_add(c->req, cryo_sock_of(o));
}

int cryo_save_tcp(struct cryo_capture *c, struct cryo_object *o)
{
	struct sock *sk = cryo_sock_of(o);
	struct sock *peer = sk->sk_state == TCP_CLOSE ? NULL : peer_get(sk);
	struct sock *orphan = peer || sk->sk_state == TCP_CLOSE ? NULL : orphan_get(sk);
	struct cryo_sock_state out = {
		.family = sk->sk_family,
		.type = SOCK_STREAM,
		.protocol = IPPROTO_TCP,
		.shutdown = READ_ONCE(sk->sk_shutdown) & SHUTDOWN_MASK,
		.error = READ_ONCE(sk->sk_err),
		.listener = o->listener ? o->listener->id : 0,
	};
	struct cryo_sock_names *names = kzalloc(sizeof(*names), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	cryo_inet_bind_flags(sk, &out.flags, CRYO_SOCK_STATE_FREEBIND, CRYO_SOCK_STATE_REUSEPORT);
	if (names) {
		describe_state(c, o, peer, &out);
		cryo_inet_names(sk, names, sk->sk_state != TCP_CLOSE);
		err = cryo_save_sockstate(c, o, &out, names) ?: cryo_save_sockopts(c, o);
		/* What was under way from and to the outside is lost with the connection. */
		if (!err && out.state != CRYO_SOCK_RESET && out.state != CRYO_SOCK_CONNECTING)
			err = save_tcp_queue(c, o, peer ?: orphan);
	}
	if (!err && peer)
		note_connection(c, o, peer);
	kfree(names);
	if (orphan)
		sock_gen_put(orphan);
	if (peer)
		sock_gen_put(peer);
	return err;
}
