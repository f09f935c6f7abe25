// SPDX-License-Identifier: GPL-2.0-only
/* msg.c - System V message queues */
#include <linux/idr.h>
#include <linux/pid.h>
#include <linux/rwsem.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "lib/buf.h"
#include "save/ipc.h"
#include "save/ipc/sysv.h"

#define MSQ_TRIES	100	/* while others send and receive */

static size_t msq_bytes(const struct cryo_msq *queue)
{
	return queue->q_cbytes + queue->q_qnum * sizeof(struct cryo_message);
}

/*
 * All messages, behind one another, into @size bytes, which is what they need if nothing changed.
 */
static bool copy_msq_messages(struct cryo_msq *queue, u8 *out, size_t size, u32 *count)
{
	struct cryo_message head = {};
	const struct msg_msg *msg;
	bool same;

	spin_lock(&queue->q_perm.lock);
	same = msq_bytes(queue) == size;
	*count = queue->q_qnum;
	if (same) {
		list_for_each_entry(msg, &queue->q_messages, m_list) {
			head.type = msg->m_type;
			head.length = msg->m_ts;
			memcpy(out, &head, sizeof(head));
			cryo_msg_copy(msg, out + sizeof(head));
			out += sizeof(head) + msg->m_ts;
		}
	}
	spin_unlock(&queue->q_perm.lock);
	return same;
}

static int put_msgs(struct cryo_buf *buf, struct cryo_msq *queue, struct cryo_msg_queue *head)
{
	unsigned int tries;
	size_t size;
	void *out;

	for (tries = 0; tries < MSQ_TRIES; tries++) {
		cryo_buf_free(buf);
		cryo_buf_put(buf, head, sizeof(*head));
		spin_lock(&queue->q_perm.lock);
		size = msq_bytes(queue);
		spin_unlock(&queue->q_perm.lock);
		out = cryo_buf_add(buf, size);
		if (!out)
			return buf->error;
		if (copy_msq_messages(queue, out, size, &head->messages)) {
			memcpy(buf->data, head, sizeof(*head));
			return 0;
		}
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return -EBUSY;
}

static int save_msg_queue(struct cryo_capture *c, struct cryo_ipc_space *space,
			  struct kern_ipc_perm *perm)
{
	struct cryo_msq *queue = container_of(perm, struct cryo_msq, q_perm);
	struct cryo_msg_queue out = { .bytes = queue->q_qbytes };
	struct cryo_buf buf = {};
	int err;

	if (!space->number && !cryo_ipc_user_in_scope(c, &queue->q_lspid, &perm->lock) &&
	    !cryo_ipc_user_in_scope(c, &queue->q_lrpid, &perm->lock))
		return 0;
	cryo_ipc_fill(space, &out.perm, &queue->q_perm, queue->q_ctime);
	if (!cryo_ipc_readable(space, &queue->q_perm)) {
		cryo_refuse(c, cryo_ipc_holder(c), "System V message queue %d: you may not read it",
			    out.perm.id);
		return 0;
	}
	err = put_msgs(&buf, queue, &out);
	if (err) {
		cryo_buf_free(&buf);
		return err;
	}
	return cryo_stream_buf(&c->stream, CRYO_SEC_MSG,
			       cryo_ipc_object(c, space, out.perm.id), sizeof(out), &buf);
}

int cryo_save_msgs(struct cryo_capture *c)
{
	return cryo_each_ipc_object(c, CRYO_IPC_MSG, save_msg_queue);
}
