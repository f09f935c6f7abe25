/* SPDX-License-Identifier: GPL-2.0-only */
/* net.h - sockets */
#ifndef CRYO_SAVE_NET_H
#define CRYO_SAVE_NET_H

#include <linux/socket.h>
#include <linux/types.h>

struct cryo_buf;
struct cryo_capture;
struct cryo_object;
struct cryo_sock_state;
struct sk_buff;
struct sk_buff_head;
struct sock;

struct cryo_sock_names {
	struct sockaddr_storage name;
	struct sockaddr_storage peer;
	unsigned int len, peer_len;
	const char *path;		/* NULL: none */
};

/* References to the buffers of a queue. */
struct cryo_skbs {
	struct sk_buff **skb;
	unsigned int n;
};

/* socket.c: sockets */
int cryo_collect_sockets(struct cryo_capture *c);
int cryo_classify_socket(struct cryo_capture *c, struct cryo_object *o, const char **obstacle);
int cryo_save_waiting_connections(struct cryo_capture *c);

/* sockopt.c: options of sockets */
int cryo_save_sockopts(struct cryo_capture *c, struct cryo_object *o);

/* sockstate.c: what sockets of all families have in common */
struct sock *cryo_sock_of(struct cryo_object *o);
struct cryo_object *cryo_object_of_sock(struct cryo_capture *c, struct sock *sk);
void cryo_describe_holder(struct cryo_capture *c, struct sock *sk, char *buf, size_t size);
s32 cryo_sock_peer_pid(struct sock *sk);
void cryo_sock_peercred(struct sock *sk, struct cryo_sock_state *out);
int cryo_save_sockstate(struct cryo_capture *c, struct cryo_object *o,
			struct cryo_sock_state *out, const struct cryo_sock_names *names);
int cryo_skbs_take(struct sk_buff_head *queue, struct cryo_skbs *s);
void cryo_skbs_drop(struct cryo_skbs *s);
void cryo_queue_begin(struct cryo_buf *buf);
int cryo_queue_bytes(struct cryo_buf *buf, const struct sk_buff *skb, unsigned int offset,
		     unsigned int length);
int cryo_queue_end(struct cryo_capture *c, struct cryo_object *o, struct cryo_buf *buf, int err);

/* unix.c: Unix sockets that are connected, bound, or none of both */
struct sock *cryo_unix_peer_get(struct sock *sk);
int cryo_collect_unix(struct cryo_capture *c, struct cryo_object *o);
bool cryo_unix_is_whole(struct cryo_capture *c, struct cryo_object *o);
void cryo_unix_peer_holder(struct cryo_capture *c, struct cryo_object *o, char *buf, size_t size);
const char *cryo_unix_obstacle(struct cryo_object *o);
const char *cryo_unix_path(struct cryo_capture *c, struct sock *sk, char *page, bool *unlinked);
const char *cryo_unix_name_obstacle(struct cryo_capture *c, struct sock *sk);
int cryo_save_socket_file(struct cryo_capture *c, struct cryo_object *o);
int cryo_save_unix(struct cryo_capture *c, struct cryo_object *o);

/* netlink.c: netlink sockets */
bool cryo_netlink_unread(const struct sock *sk);
const char *cryo_netlink_obstacle(struct cryo_object *o);
int cryo_save_netlink(struct cryo_capture *c, struct cryo_object *o);
void cryo_put_netlink_options(struct sock *sk, struct cryo_buf *buf);

/* tcp.c: TCP connections with both ends in the context */
int cryo_collect_tcp(struct cryo_capture *c, struct cryo_object *o);
bool cryo_tcp_is_whole(struct cryo_capture *c, struct cryo_object *o);
void cryo_tcp_peer_holder(struct cryo_capture *c, struct cryo_object *o, char *buf, size_t size);
void cryo_tcp_addresses(struct cryo_object *o, char *buf, size_t size);
bool cryo_tcp_deferred(struct sock *sk);
bool cryo_tcp_unsettled(struct sock *sk);
const char *cryo_tcp_obstacle(struct cryo_object *o);
int cryo_save_tcp(struct cryo_capture *c, struct cryo_object *o);

/* udp.c: UDP sockets */
const char *cryo_udp_obstacle(struct cryo_object *o);
int cryo_save_udp(struct cryo_capture *c, struct cryo_object *o);

/* inet.c */
void cryo_inet_bind_flags(struct sock *sk, u32 *flags, u32 freebind, u32 reuseport);
void cryo_inet_names(struct sock *sk, struct cryo_sock_names *names, bool connected);

#endif /* CRYO_SAVE_NET_H */
