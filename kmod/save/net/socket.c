// SPDX-License-Identifier: GPL-2.0-only
/*
 * socket.c - sockets: what kind each is, listening ones, and connections that
 * these have not accepted yet
 */
#include <linux/net.h>
#include <linux/nsproxy.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <net/inet_sock.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <net/ipv6.h>
#include <linux/un.h>

#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "capture/capture.h"
#include "compat/ksym.h"
#include "lib/buf.h"
#include "lib/locked_task.h"
#include "resources.h"
#include "save/net.h"
#include "save/net/raw.h"
#include "save/net/sock_filter.h"

static bool is_tcp(struct sock *sk)
{
	return (sk->sk_family == AF_INET || sk->sk_family == AF_INET6) &&
	       sk->sk_type == SOCK_STREAM && sk->sk_protocol == IPPROTO_TCP;
}

static bool is_listening(struct sock *sk)
{
	return sk->sk_state == TCP_LISTEN && (sk->sk_family == AF_UNIX || is_tcp(sk));
}

static bool is_udp(struct sock *sk)
{
	return (sk->sk_family == AF_INET || sk->sk_family == AF_INET6) &&
	       sk->sk_type == SOCK_DGRAM && sk->sk_protocol == IPPROTO_UDP;
}

int cryo_collect_sockets(struct cryo_capture *c)
{
	struct cryo_object *o;
	struct sock *sk;
	int err = 0;

	/* The list grows meanwhile: sockets are passed through sockets. */
	list_for_each_entry(o, &c->files, node) {
		sk = cryo_sock_of(o);
		err = cryo_capture_interrupted(c);
		if (err)
			break;
		if (sk && sk->sk_family == AF_UNIX)
			err = cryo_collect_unix(c, o);
		else if (sk && is_listening(sk))
			err = cryo_collect_tcp(c, o);
		if (err)
			break;
	}
	return err;
}

static bool socket_is_whole(struct cryo_capture *c, struct cryo_object *o)
{
	return cryo_sock_of(o)->sk_family == AF_UNIX ? cryo_unix_is_whole(c, o) :
						       cryo_tcp_is_whole(c, o);
}

/* Connections that wait have to be in the context with their other ends. */
static void check_waiting(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_object *waiting = o->first_waiting;
	char holder[64];

	if (!waiting)
		return;
	/* They came into the list together. */
	list_for_each_entry_from(waiting, &c->waiting, node) {
		if (waiting->listener != o || cryo_capture_interrupted(c))
			break;
		if (is_tcp(waiting->sk) && !cryo_has_filter_of(waiting->sk, cryo_sock_of(o)))
			cryo_refuse(c, o->proc, "fd %d (socket): a connection that has not been accepted yet has another filter than its socket",
				    o->fd);
		if (socket_is_whole(c, waiting))
			continue;
		if (cryo_sock_of(o)->sk_family == AF_UNIX)
			cryo_unix_peer_holder(c, waiting, holder, sizeof(holder));
		else
			cryo_tcp_peer_holder(c, waiting, holder, sizeof(holder));
		cryo_refuse(c, o->proc, "fd %d (socket): a connection from %s, which is outside the checkpoint, has not been accepted yet",
			    o->fd, holder);
	}
}

/* 0: refused, and told so. */
static int classify_unix(struct cryo_capture *c, struct cryo_object *o, const char **obstacle)
{
	char holder[64];

	*obstacle = cryo_unix_obstacle(o);
	if (*obstacle)
		return 0;
	if (cryo_unix_is_whole(c, o)) {
		*obstacle = cryo_unix_name_obstacle(c, cryo_sock_of(o));
		return *obstacle ? 0 : CRYO_FILE_UNIX;
	}
	if (o->stdio_fd != U32_MAX)
		return CRYO_FILE_STDIO;
	if (c->req->args.flags & CRYO_CKPT_UNIX_CLOSE) {
		*obstacle = cryo_unix_name_obstacle(c, cryo_sock_of(o));
		return *obstacle ? 0 : CRYO_FILE_UNIX;
	}
	cryo_unix_peer_holder(c, o, holder, sizeof(holder));
	cryo_refuse(c, o->proc, "fd %d (socket): its other end belongs to %s, which is outside the checkpoint; not supported except as stdio (--unix=close lets it be closed)",
		    o->fd >= 0 ? o->fd : o->carrier, holder);
	return 0;
}

static int classify_tcp(struct cryo_capture *c, struct cryo_object *o, const char **obstacle)
{
	char addresses[128], holder[64];

	*obstacle = cryo_tcp_obstacle(o);
	if (*obstacle)
		return 0;
	if (cryo_tcp_is_whole(c, o))
		return CRYO_FILE_TCP;
	if (o->stdio_fd != U32_MAX)
		return CRYO_FILE_STDIO;
	if (c->req->args.flags & CRYO_CKPT_TCP_CLOSE)
		return CRYO_FILE_TCP;
	cryo_tcp_addresses(o, addresses, sizeof(addresses));
	if (cryo_tcp_deferred(cryo_sock_of(o))) {
		cryo_refuse(c, o->proc, "fd %d (socket): TCP connection between %s, which the listening socket does not have yet (--tcp=close lets it be reset)",
			    o->fd >= 0 ? o->fd : o->carrier, addresses);
		return 0;
	}
	cryo_tcp_peer_holder(c, o, holder, sizeof(holder));
	cryo_refuse(c, o->proc, "fd %d (socket): TCP connection between %s, with %s, which is outside the checkpoint (--tcp=close lets it be reset)",
		    o->fd >= 0 ? o->fd : o->carrier, addresses, holder);
	return 0;
}

static bool is_in_net(struct task_struct *task, struct net *net)
{
	struct nsproxy *all;
	bool in;

	task_lock(task);
	all = cryo_nsproxy_of(task);
	in = all && all->net_ns == net;
	task_unlock(task);
	return in;
}

static bool anybody_is_in(struct cryo_capture *c, struct net *net)
{
	struct cryo_proc *p;

	cryo_for_each_proc(p, c->req)
		if (p->task && !p->zombie && !p->gone && !p->omitted && is_in_net(p->task, net))
			return true;
	return false;
}

/* Is it the requester's, or that of a process in the context, with which it is saved? */
static bool is_rebuilt(struct cryo_capture *c, struct net *net)
{
	if (net == current->nsproxy->net_ns)
		return true;
	if (c->looked_net != net) {
		c->looked_net_is_rebuilt = anybody_is_in(c, net);
		c->looked_net = net;
	}
	return c->looked_net_is_rebuilt;
}

/* Those that are asked for most. */
static const char *obstacle_by_protocol(const struct sock *sk)
{
	if (sk->sk_family == AF_PACKET)
		return "packet socket (AF_PACKET)";
	if (sk->sk_family != AF_INET && sk->sk_family != AF_INET6)
		return NULL;
	switch (sk->sk_protocol) {
	case IPPROTO_UDPLITE:
		return "UDP-Lite socket";
	case IPPROTO_SCTP:
		return "SCTP socket";
	case IPPROTO_DCCP:
		return "DCCP socket";
	case IPPROTO_MPTCP:
		return "multipath TCP socket (MPTCP)";
	}
	return NULL;
}

/* CRYO_FILE_*, or 0 for what is refused: with @obstacle, or in words of its own. */
int cryo_classify_socket(struct cryo_capture *c, struct cryo_object *o, const char **obstacle)
{
	struct sock *sk = cryo_sock_of(o);

	if (o->stdio_fd != U32_MAX &&
	    (!sk || is_listening(sk) || (sk->sk_family != AF_UNIX && !is_tcp(sk))))
		return CRYO_FILE_STDIO;
	if (sk && !(cryo_ksym_features() & CRYO_FEATURE_SOCKET_OPTIONS)) {
		*obstacle = "socket (this kernel does not tell its options)";
		return 0;
	}
	if (sk && !is_rebuilt(c, sock_net(sk))) {
		*obstacle = "socket (of a network namespace that no process of the job is in)";
		return 0;
	}
	*obstacle = sk ? cryo_sock_filter_obstacle(sk) : NULL;
	if (*obstacle)
		return 0;
	if (sk && is_listening(sk)) {
		check_waiting(c, o);
		if (sk->sk_family == AF_UNIX)
			*obstacle = cryo_unix_name_obstacle(c, sk);
		return *obstacle ? 0 : CRYO_FILE_SOCKET;
	}
	if (sk && sk->sk_family == AF_UNIX)
		return classify_unix(c, o, obstacle);
	if (sk && is_tcp(sk))
		return classify_tcp(c, o, obstacle);
	if (sk && is_udp(sk)) {
		*obstacle = cryo_udp_obstacle(o);
		return *obstacle ? 0 : CRYO_FILE_UDP;
	}
	if (sk && cryo_is_raw_or_ping(sk)) {
		*obstacle = cryo_raw_obstacle(c, o);
		return *obstacle ? 0 : CRYO_FILE_RAW;
	}
	if (sk && sk->sk_family == AF_NETLINK) {
		*obstacle = cryo_netlink_obstacle(o);
		return *obstacle ? 0 : CRYO_FILE_NETLINK;
	}
	*obstacle = (sk ? obstacle_by_protocol(sk) : NULL) ?:
		    "socket (only Unix, TCP, UDP, raw, ping and netlink sockets are supported)";
	return 0;
}

/* Its length. Not by the function behind getsockname(2) where that locks the socket. */
static int own_name(struct socket *sock, struct cryo_sock_names *names)
{
	if (sock->sk->sk_family == AF_UNIX)
		return kernel_getsockname(sock, (struct sockaddr *)&names->name);
	cryo_inet_names(sock->sk, names, false);
	return names->len;
}

/* Address, and where the name in the file system is. */
static int put_names(struct cryo_capture *c, struct socket *sock, struct cryo_socket *head,
		     struct cryo_buf *buf)
{
	struct cryo_sock_names names = {};
	const char *path = NULL;
	bool unlinked = false;
	char *page;
	int len = own_name(sock, &names);

	if (len < 0)
		return len;
	page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (!page)
		return -ENOMEM;
	if (sock->sk->sk_family == AF_UNIX)
		path = cryo_unix_path(c, sock->sk, page, &unlinked);
	if (unlinked)
		head->flags |= CRYO_SOCK_UNLINKED;
	head->path_len = path ? strlen(path) : 0;
	cryo_buf_put(buf, head, sizeof(*head));
	cryo_buf_put(buf, &names.name, min_t(size_t, len, sizeof(names.name)));
	if (path)
		cryo_buf_put(buf, path, head->path_len);
	kfree(page);
	return 0;
}

static int save_listening(struct cryo_capture *c, struct cryo_object *o)
{
	struct socket *sock = sock_from_file(o->file);
	struct sock *sk = sock->sk;
	struct cryo_buf buf = {};
	struct cryo_socket out = {
		.family = sk->sk_family,
		.type = sock->type,
		.protocol = sk->sk_protocol,
		.backlog = READ_ONCE(sk->sk_max_ack_backlog),
		.peer_pid = cryo_sock_peer_pid(sk),
	};
	int err;

	if (sk->sk_reuse)
		out.flags |= CRYO_SOCK_REUSEADDR;
	if (sk->sk_family != AF_UNIX)
		cryo_inet_bind_flags(sk, &out.flags, CRYO_SOCK_FREEBIND, CRYO_SOCK_REUSEPORT);
	if (sk->sk_family == AF_INET6 && sk->sk_ipv6only)
		out.flags |= CRYO_SOCK_V6ONLY;
	err = put_names(c, sock, &out, &buf);
	if (err) {
		cryo_buf_free(&buf);
		return err;
	}
	return cryo_stream_buf(&c->stream, CRYO_SEC_SOCKET, o->id, sizeof(out), &buf);
}

static int save_socket_net(struct cryo_capture *c, struct cryo_object *o)
{
	struct net *net = sock_net(cryo_sock_of(o));
	struct cryo_socket_net out = { .mnt = o->name_mnt };

	if (net != current->nsproxy->net_ns)
		out.net = net->ns.inum;
	if (!out.net && !out.mnt)
		return 0;
	return cryo_stream_section(&c->stream, CRYO_SEC_SOCKET_NET, o->id, sizeof(out), &out,
				   sizeof(out));
}

static int save_socket(struct cryo_capture *c, struct cryo_object *o)
{
	int err = save_listening(c, o) ?: save_socket_net(c, o);

	if (!err && cryo_sock_of(o)->sk_family == AF_UNIX)
		err = cryo_save_socket_file(c, o);
	return err ?: cryo_save_sockopts(c, o);
}

static int save_by_family(struct cryo_capture *c, struct cryo_object *o)
{
	switch (cryo_sock_of(o)->sk_family) {
	case AF_UNIX:
		return cryo_save_unix(c, o);
	case AF_NETLINK:
		return cryo_save_netlink(c, o);
	case AF_INET:
	case AF_INET6:
		if (cryo_is_raw_or_ping(cryo_sock_of(o)))
			return cryo_save_raw(c, o);
		return is_udp(cryo_sock_of(o)) ? cryo_save_udp(c, o) : cryo_save_tcp(c, o);
	}
	return 0;
}

static int save_connection(struct cryo_capture *c, struct cryo_object *o)
{
	return save_socket_net(c, o) ?: save_by_family(c, o);
}

/*
 * Processes that are not in the scope may have the listening socket as well. What they have
 * accepted meanwhile was described in part before that, and in part after it; what they have not,
 * nobody but the processes of the scope could change.
 */
static void check_still_waiting(struct cryo_capture *c)
{
	struct cryo_object *o;

	list_for_each_entry(o, &c->waiting, node) {
		if (READ_ONCE(o->sk->sk_socket) || sock_flag(o->sk, SOCK_DEAD))
			cryo_refuse(c, o->proc, "fd %d (socket): a connection that waited in it has been accepted by a process outside the checkpoint",
				    o->fd);
	}
}

int cryo_save_waiting_connections(struct cryo_capture *c)
{
	struct cryo_file out = { .kind = CRYO_FILE_WAITING };
	struct cryo_object *o;
	int err = 0;

	list_for_each_entry(o, &c->waiting, node) {
		err = cryo_capture_interrupted(c) ?:
		      cryo_stream_section(&c->stream, CRYO_SEC_FILE, o->id, sizeof(out), &out,
					  sizeof(out)) ?: save_connection(c, o);
		cryo_refuse_too_big(c, o->proc, err);
		if (err)
			break;
	}
	check_still_waiting(c);
	return err;
}

const struct cryo_file_kind cryo_file_kind_socket = {
	.kind = CRYO_FILE_SOCKET,
	.save = save_socket,
};

const struct cryo_file_kind cryo_file_kind_tcp = {
	.kind = CRYO_FILE_TCP,
	.save = save_connection,
};

const struct cryo_file_kind cryo_file_kind_udp = {
	.kind = CRYO_FILE_UDP,
	.save = save_connection,
};

const struct cryo_file_kind cryo_file_kind_raw = {
	.kind = CRYO_FILE_RAW,
	.save = save_connection,
};

const struct cryo_file_kind cryo_file_kind_unix = {
	.kind = CRYO_FILE_UNIX,
	.needs = CRYO_NEEDS_LAYOUT(UNIX),
	.save = save_connection,
};

const struct cryo_file_kind cryo_file_kind_netlink = {
	.kind = CRYO_FILE_NETLINK,
	.needs = CRYO_NEEDS_LAYOUT(NETLINK),
	.save = save_connection,
};
