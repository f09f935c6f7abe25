// SPDX-License-Identifier: GPL-2.0-only
/* save_mqueue.c - POSIX message queues: limits, messages, who is told of the next one */
#include <linux/dcache.h>
#include <linux/fs.h>

#include "compat/mqueue.h"
#include "ipc.h"

#define TRIES	100	/* while others send and receive */

bool cryo_is_mqueue(struct file *file)
{
	return file_inode(file)->i_sb->s_magic == CRYO_MQUEUE_MAGIC &&
	       S_ISREG(file_inode(file)->i_mode);
}

static size_t bytes_of(const struct cryo_mq_info *queue)
{
	return queue->qsize + queue->attr.mq_curmsgs * sizeof(struct cryo_message);
}

/* From the highest priority down, as they would be received. */
static void copy_messages(const struct cryo_mq_info *queue, u8 *out)
{
	struct cryo_message head = {};
	const struct msg_msg *msg;
	struct rb_node *node;

	for (node = queue->msg_tree_rightmost; node; node = rb_prev(node)) {
		const struct cryo_mq_node *leaf = rb_entry(node, struct cryo_mq_node, rb_node);

		list_for_each_entry(msg, &leaf->msg_list, m_list) {
			head.type = msg->m_type;
			head.length = msg->m_ts;
			memcpy(out, &head, sizeof(head));
			cryo_msg_copy(msg, out + sizeof(head));
			out += sizeof(head) + msg->m_ts;
		}
	}
}

static int put_messages(struct cryo_buf *buf, struct cryo_mq_info *queue, struct cryo_mqueue *head)
{
	unsigned int tries;
	size_t size;
	bool same;
	u8 *out;

	for (tries = 0; tries < TRIES; tries++) {
		cryo_buf_free(buf);
		cryo_buf_put(buf, head, sizeof(*head));
		spin_lock(&queue->lock);
		size = bytes_of(queue);
		spin_unlock(&queue->lock);
		out = cryo_buf_add(buf, size);
		if (!out)
			return buf->error;
		spin_lock(&queue->lock);
		same = bytes_of(queue) == size;
		head->messages = queue->attr.mq_curmsgs;
		if (same)
			copy_messages(queue, out);
		spin_unlock(&queue->lock);
		if (same) {
			memcpy(buf->data, head, sizeof(*head));
			return 0;
		}
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return -EBUSY;
}

/* Who is told when a message comes, if that is somebody here. False: it cannot be restored. */
static bool describe_notification(struct cryo_capture *c, struct cryo_mq_info *queue,
				  struct cryo_mqueue *out)
{
	struct pid *owner;

	spin_lock(&queue->lock);
	owner = get_pid(queue->notify_owner);
	out->notify = queue->notify.sigev_notify;
	out->notify_signal = queue->notify.sigev_signo;
	out->notify_value = (unsigned long)queue->notify.sigev_value.sival_ptr;
	spin_unlock(&queue->lock);
	if (cryo_pid_in_scope(c, owner)) {
		out->notify_pid = pid_vnr(owner);
	} else {
		out->notify = 0;
		out->notify_signal = 0;
		out->notify_value = 0;
	}
	put_pid(owner);
	return !out->notify_pid || out->notify == SIGEV_SIGNAL || out->notify == SIGEV_NONE;
}

/*
 * The table that a process makes for itself in a restart is closed when it takes the shared one, and its
 * notifications with it.
 */
static bool notifies_sharer(struct cryo_capture *c, const struct cryo_mqueue *queue)
{
	struct cryo_proc *p, *now = c->p;
	bool shares = false;

	cryo_for_each_proc(p, c->req) {
		if (p->pid != queue->notify_pid)
			continue;
		c->p = p;
		shares = cryo_has_table_of_other(c);
	}
	c->p = now;
	return shares;
}

int cryo_save_mqueue(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_mq_info *queue = cryo_mq_info(file_inode(o->file));
	struct cryo_mqueue out = {
		.max_messages = queue->attr.mq_maxmsg,
		.message_size = queue->attr.mq_msgsize,
	};
	struct cryo_buf buf = {};
	int err;

	if (!(o->file->f_mode & FMODE_READ) && file_permission(o->file, MAY_READ)) {
		cryo_refuse(c, "POSIX message queue %pd: you may not read it",
			    o->file->f_path.dentry);
		return 0;
	}
	if (!describe_notification(c, queue, &out)) {
		cryo_refuse(c, "POSIX message queue %pd: its notification by a thread (SIGEV_THREAD) is not supported",
			    o->file->f_path.dentry);
		return 0;
	}
	if (out.notify_pid && notifies_sharer(c, &out)) {
		cryo_refuse(c, "POSIX message queue %pd: its notification of pid %d, which shares its descriptors (CLONE_FILES), is not supported",
			    o->file->f_path.dentry, out.notify_pid);
		return 0;
	}
	err = put_messages(&buf, queue, &out);
	if (err) {
		cryo_buf_free(&buf);
		return err;
	}
	return cryo_stream_buf(&c->stream, CRYO_SEC_MQUEUE, o->id, sizeof(out), &buf);
}
