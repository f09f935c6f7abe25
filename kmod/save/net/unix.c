// SPDX-License-Identifier: GPL-2.0-only
/*
 * unix.c - Unix sockets that are connected, bound, or none of both
 *
 * The other end has to be in the scope: it is an open file there, or a connection
 * that waits in the queue of a listening socket.  Files under way in messages are
 * found first, because they are files of the scope that no descriptor may name.
 */
#include <linux/dcache.h>
#include <linux/net.h>
#include <linux/path.h>
#include <linux/slab.h>
#include <linux/un.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "compat/af_unix.h"
#include "compat/layouts.h"
#include "lib/buf.h"
#include "paths/find.h"
#include "save/files.h"
#include "save/net.h"

struct sock *cryo_unix_peer_get(struct sock *sk)
{
	struct sock *peer;

	unix_state_lock(sk);
	peer = unix_peer(sk);
	if (peer)
		sock_hold(peer);
	unix_state_unlock(sk);
	return peer;
}

/* A name stays as it is as long as its socket. */
static int name_of(struct sock *sk, struct sockaddr_storage *to)
{
	/* pairs with bind(), which publishes a finished name */
	struct unix_address *addr = smp_load_acquire(&unix_sk(sk)->addr);

	if (!addr)
		return 0;
	memcpy(to, addr->name, min_t(size_t, addr->len, sizeof(*to)));
	return min_t(size_t, addr->len, sizeof(*to));
}

/* ---- collect ---- */

static int collect_passed_by(struct cryo_capture *c, struct cryo_object *o, struct sk_buff *skb)
{
	struct scm_fp_list *fp = UNIXCB(skb).fp;
	struct cryo_object *passed;
	int i;

	for (i = 0; fp && i < fp->count; i++) {
		passed = cryo_object_file(c, o->proc, fp->fp[i]);
		if (!passed)
			return -ENOMEM;
		passed->refs++;
		if (passed->carrier < 0)
			passed->carrier = o->fd >= 0 ? o->fd : o->carrier;
	}
	return 0;
}

/*
 * Files under way in the messages of @sk, which belongs to @o. Processes that are not in the scope
 * may have the socket as well, and take them out: not while the lock of all readers is ours.
 */
static int collect_passed(struct cryo_capture *c, struct cryo_object *o, struct sock *sk)
{
	struct cryo_skbs skbs = {};
	unsigned int i;
	int err = cryo_busy_mutex_lock(c, o, &unix_sk(sk)->iolock, "socket");

	if (err)
		return err;
	err = cryo_skbs_take(&sk->sk_receive_queue, &skbs);
	for (i = 0; !err && i < skbs.n; i++)
		err = collect_passed_by(c, o, skbs.skb[i]);
	mutex_unlock(&unix_sk(sk)->iolock);
	cryo_skbs_drop(&skbs);
	return err;
}

static int collect_connection(struct cryo_capture *c, struct cryo_object *o, struct sock *sk)
{
	struct cryo_object *waiting;
	int err;

	/* Accepted and closed by somebody else; the buffer keeps its memory. */
	if (!refcount_inc_not_zero(&sk->sk_refcnt))
		return 0;
	waiting = cryo_object_waiting(c, sk, o);
	err = waiting ? collect_passed(c, o, sk) : -ENOMEM;
	sock_put(sk);
	return err;
}

/* Connections that @o has not accepted. Each is a socket already, without a file. */
static int collect_waiting(struct cryo_capture *c, struct cryo_object *o, struct sock *sk)
{
	struct cryo_skbs skbs;
	unsigned int i;
	int err = cryo_skbs_take(&sk->sk_receive_queue, &skbs);

	if (err)
		return err;
	for (i = 0; !err && i < skbs.n; i++)
		err = collect_connection(c, o, skbs.skb[i]->sk);
	cryo_skbs_drop(&skbs);
	return err;
}

int cryo_collect_unix(struct cryo_capture *c, struct cryo_object *o)
{
	struct sock *sk = cryo_sock_of(o);

	/* Refused as a whole, save/files/files.c. */
	if (!cryo_layout_fits(CRYO_LAYOUT_UNIX))
		return 0;
	if (sk->sk_state == TCP_LISTEN)
		return collect_waiting(c, o, sk);
	return collect_passed(c, o, sk);
}

/* ---- check ---- */

/* Whether @o's other end is in the context, or nowhere any more. */
bool cryo_unix_is_whole(struct cryo_capture *c, struct cryo_object *o)
{
	struct sock *peer = cryo_unix_peer_get(cryo_sock_of(o));
	bool whole;

	if (!peer)
		return true;
	whole = sock_flag(peer, SOCK_DEAD) || cryo_object_of_sock(c, peer);
	sock_put(peer);
	return whole;
}

/* "pid N (comm)" of the other end. */
void cryo_unix_peer_holder(struct cryo_capture *c, struct cryo_object *o, char *buf, size_t size)
{
	struct sock *peer = cryo_unix_peer_get(cryo_sock_of(o));

	strscpy(buf, "another process", size);
	if (!peer)
		return;
	cryo_describe_holder(c, peer, buf, size);
	sock_put(peer);
}

const char *cryo_unix_obstacle(struct cryo_object *o)
{
	struct sock *sk = cryo_sock_of(o);

	if (sk->sk_type != SOCK_STREAM && sk->sk_type != SOCK_DGRAM &&
	    sk->sk_type != SOCK_SEQPACKET)
		return "Unix socket of this type";
	if (cryo_unix_has_oob(sk))
		return "urgent data (MSG_OOB) in a Unix socket";
	return NULL;
}

/* ---- save ---- */

static int put_message(struct cryo_capture *c, struct cryo_object *o, struct sk_buff *skb,
		       struct cryo_buf *buf)
{
	unsigned int offset = 0;
	struct cryo_sock_message head = {};
	struct scm_fp_list *fp = UNIXCB(skb).fp;
	struct cryo_object *sender = NULL;
	struct sockaddr_storage name = {};
	int i;

	if (cryo_sock_of(o)->sk_type == SOCK_STREAM)
		offset = UNIXCB(skb).consumed;
	head.length = skb->len - offset;
	head.files = fp ? fp->count : 0;
	if (cryo_sock_of(o)->sk_type == SOCK_DGRAM && skb->sk) {
		sender = cryo_object_of_sock(c, skb->sk);
		head.sender = sender ? sender->id : 0;
		head.name_len = name_of(skb->sk, &name);
		if (!sender && head.name_len && !sock_flag(skb->sk, SOCK_DEAD))
			cryo_refuse(c, o->proc, "fd %d (socket): a datagram from another process is queued in it, whose source address cannot be bound",
				    o->fd);
	}
	if (UNIXCB(skb).pid) {
		head.flags = CRYO_SOCK_MESSAGE_CREDS;
		head.pid = pid_vnr(UNIXCB(skb).pid);
		head.uid = from_kuid_munged(current_user_ns(), UNIXCB(skb).uid);
		head.gid = from_kgid_munged(current_user_ns(), UNIXCB(skb).gid);
	}
	cryo_buf_put(buf, &head, sizeof(head));
	for (i = 0; fp && i < fp->count; i++) {
		struct cryo_object *passed = cryo_object_find(c, fp->fp[i]);

		/* It came after the files were collected, from outside of the scope. */
		if (!passed)
			return -EAGAIN;
		cryo_buf_put(buf, &passed->id, sizeof(passed->id));
	}
	cryo_buf_put(buf, &name, head.name_len);
	return cryo_queue_bytes(buf, skb, offset, head.length);
}

static int save_unix_queue(struct cryo_capture *c, struct cryo_object *o)
{
	struct sock *sk = cryo_sock_of(o);
	struct cryo_skbs skbs = {};
	struct cryo_buf buf = {};
	unsigned int i;
	int err;

	/* Keeps processes that share the open file from reading meanwhile. */
	err = cryo_busy_mutex_lock(c, o, &unix_sk(sk)->iolock, "socket");
	if (err)
		return err;
	cryo_queue_begin(&buf);
	err = cryo_skbs_take(&sk->sk_receive_queue, &skbs);
	for (i = 0; !err && i < skbs.n; i++)
		err = put_message(c, o, skbs.skb[i], &buf);
	mutex_unlock(&unix_sk(sk)->iolock);
	cryo_skbs_drop(&skbs);
	return cryo_queue_end(c, o, &buf, err);
}

/* Counted. False: it has no name in the file system. */
static bool place_of(struct sock *sk, struct path *path)
{
	*path = (struct path){};
	unix_state_lock(sk);
	if (unix_sk(sk)->path.dentry) {
		*path = unix_sk(sk)->path;
		path_get(path);
	}
	unix_state_unlock(sk);
	return path->dentry;
}

static bool name_is_gone(const struct path *path)
{
	return d_unlinked(path->dentry) && !cryo_has_other_name(path);
}

/*
 * Where the name of @sk in the file system is, in @page: it may have been given another one since
 * bind(). Of one that has been removed: where it was, if the name does not say that. NULL: nowhere.
 */
const char *cryo_unix_path(struct cryo_capture *c, struct sock *sk, char *page, bool *unlinked)
{
	/* pairs with bind(), which publishes a finished name */
	struct unix_address *addr = smp_load_acquire(&unix_sk(sk)->addr);
	struct path path;
	char *text = NULL;
	bool other;

	*unlinked = false;
	if (!place_of(sk, &path))
		return NULL;
	*unlinked = name_is_gone(&path);
	if (!*unlinked)
		text = cryo_find_name(c, &path, page, &other);
	else if (addr && addr->name->sun_path[0] != '/')
		text = cryo_path_name(&path, page, PATH_MAX, &other);
	path_put(&path);
	return IS_ERR(text) ? NULL : text;
}

/* Whoever calls it finds it by its name. */
const char *cryo_unix_name_obstacle(struct cryo_capture *c, struct sock *sk)
{
	char *page, *name = NULL;
	struct path path;
	bool other;

	if (!place_of(sk, &path))
		return NULL;
	page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (page && !name_is_gone(&path))
		name = cryo_find_name(c, &path, page, &other);
	kfree(page);
	path_put(&path);
	if (name == ERR_PTR(-ENOENT))
		return "Unix socket that no path leads to (under another mount, or unmounted)";
	return NULL;
}

/* What its name stands for, unless that is gone: whose it is, who may call, which one it is. */
int cryo_save_socket_file(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_inode out = {};
	struct path path;
	bool gone;
	int err = 0;

	if (!place_of(cryo_sock_of(o), &path))
		return 0;
	gone = name_is_gone(&path);
	if (!gone)
		err = cryo_describe_inode(&path, &out);
	path_put(&path);
	if (gone || err)
		return err;
	return cryo_stream_section(&c->stream, CRYO_SEC_SOCKET_FILE, o->id, sizeof(out), &out,
				   sizeof(out));
}

static void find_peer(struct cryo_capture *c, struct sock *sk, struct cryo_sock_state *out,
		      struct cryo_sock_names *names)
{
	struct sock *peer = cryo_unix_peer_get(sk);
	struct cryo_object *o;

	if (!peer)
		return;
	names->peer_len = name_of(peer, &names->peer);
	o = cryo_object_of_sock(c, peer);
	out->state = o ? CRYO_SOCK_CONNECTED : CRYO_SOCK_PEER_GONE;
	out->peer = o ? o->id : 0;
	sock_put(peer);
}

int cryo_save_unix(struct cryo_capture *c, struct cryo_object *o)
{
	struct sock *sk = cryo_sock_of(o);
	struct cryo_sock_names *names = kzalloc(sizeof(*names), GFP_KERNEL_ACCOUNT);
	char *page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	struct cryo_sock_state out = {
		.family = AF_UNIX,
		.type = sk->sk_type,
		.shutdown = READ_ONCE(sk->sk_shutdown) & SHUTDOWN_MASK,
		.error = READ_ONCE(sk->sk_err),
		.listener = o->listener ? o->listener->id : 0,
	};
	int err = -ENOMEM;
	bool unlinked;

	if (names && page) {
		names->len = name_of(sk, &names->name);
		find_peer(c, sk, &out, names);
		cryo_sock_peercred(sk, &out);
		names->path = cryo_unix_path(c, sk, page, &unlinked);
		if (unlinked)
			out.flags |= CRYO_SOCK_STATE_UNLINKED;
		err = cryo_save_sockstate(c, o, &out, names) ?: cryo_save_socket_file(c, o) ?:
		      cryo_save_sockopts(c, o) ?: save_unix_queue(c, o);
	}
	kfree(page);
	kfree(names);
	return err;
}
