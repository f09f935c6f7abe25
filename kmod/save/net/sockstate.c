// SPDX-License-Identifier: GPL-2.0-only
/*
 * sockstate.c - what sockets of all families have in common: who is at the
 * other end, and messages that wait
 */
#include <linux/cred.h>
#include <linux/net.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <net/sock.h>

#include <cryo/format.h>

#include "access/access.h"
#include "capture/capture.h"
#include "lib/buf.h"
#include "lib/walk_files.h"
#include "save/net.h"

struct sock *cryo_sock_of(struct cryo_object *o)
{
	struct socket *sock;

	if (o->sk)
		return o->sk;
	sock = sock_from_file(o->file);
	return sock ? sock->sk : NULL;
}

/* Its address, for comparison only. */
static const struct file *file_of_sock(struct sock *sk)
{
	const struct file *file = NULL;

	read_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_socket)
		file = sk->sk_socket->file;
	read_unlock_bh(&sk->sk_callback_lock);
	return file;
}

/* The object of a socket in the scope, be it open or not accepted yet. */
struct cryo_object *cryo_object_of_sock(struct cryo_capture *c, struct sock *sk)
{
	struct cryo_object *o = cryo_object_find(c, sk);
	const struct file *file;

	if (o)
		return o;
	file = file_of_sock(sk);
	return file ? cryo_object_find(c, file) : NULL;
}

static bool is_file(const void *arg, struct file *file)
{
	return file == arg;
}

/* Their descriptors are looked through for each socket that is refused: only for the first ones. */
#define MAX_NAMED	8
#define TASK_BATCH	16

static bool has_open(struct cryo_capture *c, struct task_struct *task, const struct file *file)
{
	struct cryo_file_walk walk = { .wanted = is_file, .arg = file };
	bool has;

	if (!cryo_may_see(task))
		return false;
	do {
		has = cryo_walk_files(&walk, task);
	} while (walk.more && !cryo_capture_interrupted(c));
	return has;
}

/* Some processes behind @at, counted; none if it has gone meanwhile, or is the last one. */
static unsigned int next_processes(struct task_struct *at, struct task_struct **out)
{
	unsigned int n = 0;

	rcu_read_lock();
	while (pid_alive(at) && n < TASK_BATCH) {
		at = next_task(at);
		if (at == &init_task)
			break;
		get_task_struct(at);
		out[n++] = at;
	}
	rcu_read_unlock();
	return n;
}

/* Among those whose descriptors /proc shows the requester: counted, or NULL. */
static struct task_struct *find_holder_of(struct cryo_capture *c, const struct file *file)
{
	struct task_struct *some[TASK_BATCH], *at = &init_task, *found = NULL;
	unsigned int n, i;

	get_task_struct(at);
	do {
		n = next_processes(at, some);
		put_task_struct(at);
		for (i = 0; i < n; i++) {
			if (!found && !cryo_capture_interrupted(c) && has_open(c, some[i], file))
				found = get_task_struct(some[i]);
			/* The last one is where it goes on. */
			if (i + 1 < n)
				put_task_struct(some[i]);
		}
		if (n)
			at = some[n - 1];
		cond_resched();
	} while (n && !found && !cryo_capture_interrupted(c));
	if (n)
		put_task_struct(at);
	return found;
}

/* Who has @sk open: "pid N (comm)", the first one found, if the requester may know. */
void cryo_describe_holder(struct cryo_capture *c, struct sock *sk, char *buf, size_t size)
{
	const struct file *file = file_of_sock(sk);
	struct task_struct *task = NULL;

	if (file && c->holders_named++ < MAX_NAMED)
		task = find_holder_of(c, file);
	if (!task) {
		strscpy(buf, "another process", size);
		return;
	}
	cryo_describe_task(task, buf, size);
	put_task_struct(task);
}

s32 cryo_sock_peer_pid(struct sock *sk)
{
	s32 pid;

	spin_lock(&sk->sk_peer_lock);
	pid = pid_vnr(sk->sk_peer_pid);
	spin_unlock(&sk->sk_peer_lock);
	return pid;
}

/* SO_PEERCRED, in the requester's namespaces. */
void cryo_sock_peercred(struct sock *sk, struct cryo_sock_state *out)
{
	spin_lock(&sk->sk_peer_lock);
	out->peer_pid = pid_vnr(sk->sk_peer_pid);
	if (sk->sk_peer_cred) {
		out->peer_uid = from_kuid_munged(current_user_ns(), sk->sk_peer_cred->euid);
		out->peer_gid = from_kgid_munged(current_user_ns(), sk->sk_peer_cred->egid);
	}
	spin_unlock(&sk->sk_peer_lock);
}

/* The state with its addresses. */
int cryo_save_sockstate(struct cryo_capture *c, struct cryo_object *o,
			struct cryo_sock_state *out, const struct cryo_sock_names *names)
{
	struct cryo_buf buf = {};

	out->name_len = names->len;
	out->peer_name_len = names->peer_len;
	out->path_len = names->path ? strlen(names->path) : 0;
	cryo_buf_put(&buf, out, sizeof(*out));
	cryo_buf_put(&buf, &names->name, names->len);
	cryo_buf_put(&buf, &names->peer, names->peer_len);
	cryo_buf_put(&buf, names->path, out->path_len);
	return cryo_stream_buf(&c->stream, CRYO_SEC_SOCKSTATE, o->id, sizeof(*out), &buf);
}

/* ---- queues ---- */

static unsigned int take_some(struct sk_buff_head *queue, struct cryo_skbs *s, unsigned int room)
{
	struct sk_buff *skb;
	unsigned int n = 0;

	spin_lock_bh(&queue->lock);
	if (queue->qlen <= room)
		skb_queue_walk(queue, skb)
			s->skb[n++] = skb_get(skb);
	else
		n = queue->qlen;
	spin_unlock_bh(&queue->lock);
	return n;
}

/* References to all buffers of a queue: they can be looked at without its lock. */
int cryo_skbs_take(struct sk_buff_head *queue, struct cryo_skbs *s)
{
	unsigned int room = 64;

	for (;;) {
		s->skb = kvcalloc(room, sizeof(*s->skb), GFP_KERNEL_ACCOUNT);
		if (!s->skb)
			return -ENOMEM;
		s->n = take_some(queue, s, room);
		if (s->n <= room)
			return 0;
		kvfree(s->skb);
		room = s->n + 64;
	}
}

void cryo_skbs_drop(struct cryo_skbs *s)
{
	unsigned int i;

	for (i = 0; i < s->n; i++)
		consume_skb(s->skb[i]);
	kvfree(s->skb);
	s->skb = NULL;
	s->n = 0;
}

void cryo_queue_begin(struct cryo_buf *buf)
{
	struct cryo_sock_queue head = { .record_size = sizeof(struct cryo_sock_message) };

	cryo_buf_put(buf, &head, sizeof(head));
}

/* The bytes of a message, the last of its parts. */
int cryo_queue_bytes(struct cryo_buf *buf, const struct sk_buff *skb, unsigned int offset,
		     unsigned int length)
{
	struct cryo_sock_queue *head;
	u8 *to = cryo_buf_add(buf, length);
	int err;

	if (!to)
		return buf->error;
	err = skb_copy_bits(skb, offset, to, length);
	head = (struct cryo_sock_queue *)buf->data;
	head->messages++;
	head->bytes += length;
	return err;
}

/* Writes nothing for an empty queue. */
int cryo_queue_end(struct cryo_capture *c, struct cryo_object *o, struct cryo_buf *buf, int err)
{
	if (!err)
		err = buf->error;
	if (!err && ((struct cryo_sock_queue *)buf->data)->messages)
		return cryo_stream_buf(&c->stream, CRYO_SEC_SOCKQUEUE, o->id,
				       sizeof(struct cryo_sock_queue), buf);
	cryo_buf_free(buf);
	return err;
}
