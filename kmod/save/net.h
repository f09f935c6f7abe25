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

/**
 * cryo_collect_sockets() - note sockets, and other files, that are only in queues of sockets
 * @c: the capture, to whose files they are added
 *
 * Descriptors that are being passed by Unix sockets, and connections that have not been accepted.
 *
 * Context: In the requester, when all processes have been collected, and before
 * cryo_classify_files(). May sleep.
 *
 * Return: 0; -ENOMEM; or an error of cryo_capture_interrupted(), or of the sockets' savers.
 */
int cryo_collect_sockets(struct cryo_capture *c);

int cryo_classify_socket(struct cryo_capture *c, struct cryo_object *o, const char **obstacle);

/**
 * cryo_save_waiting_connections() - add CRYO_SEC_FILE and the state of connections that have not
 *	been accepted
 * @c: the capture
 *
 * In the order in which they would be accepted. One that a process outside of the scope has
 * accepted meanwhile is refused.
 *
 * Context: In the requester, after cryo_save_files(). May sleep.
 *
 * Return: 0; an error of cryo_capture_interrupted(); -ENOMEM, -E2BIG or -EFBIG; or an error of
 * reading the state; an obstacle is no error.
 */
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

/**
 * cryo_unix_peer_get() - the other end of a Unix socket
 * @sk: a Unix socket
 *
 * Context: Takes unix_state_lock(); does not sleep.
 *
 * Return: the socket, for sock_put(); NULL: there is none.
 */
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

/**
 * cryo_netlink_unread() - has a netlink socket an answer of the kernel that has not been read, or
 *	the rest of one?
 * @sk: any socket
 *
 * Context: Any: no lock is taken.
 *
 * Return: true: it has; false: it has not, is no netlink socket, or has another layout than the
 * module assumes.
 */
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

/**
 * cryo_tcp_unsettled() - has a TCP connection only one end so far?
 * @sk: any socket
 *
 * Context: Takes rcu_read_lock(); does not sleep.
 *
 * Return: true: it is in the handshake, or the listening socket at the other end does not have it
 * yet (TCP_DEFER_ACCEPT, or no room).
 */
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
