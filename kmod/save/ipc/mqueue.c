// SPDX-License-Identifier: GPL-2.0-only
/* mqueue.c - POSIX message queues: limits, messages, who is told of the next one */
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sched/signal.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/mqueue.h"
#include "lib/buf.h"
#include "resources.h"
#include "save/ipc.h"
#include "save/ipc/sysv.h"
#include "save/process.h"

#define MQ_TRIES	100	/* while others send and receive */

bool cryo_is_mqueue(struct file *file)
{
	return file_inode(file)->i_sb->s_magic == CRYO_MQUEUE_MAGIC &&
	       S_ISREG(file_inode(file)->i_mode);
}

struct queue_reader {
	struct dir_context ctx;
	struct cryo_capture *c;
	struct path at;
	int error;
};

/* A queue that may be open nowhere: opened for reading, it is found as those are that are. */
static int collect_queue(struct cryo_capture *c, const struct path *path)
{
	struct file *file = dentry_open(path, O_RDONLY | O_LARGEFILE, current_cred());
	int err;

	if (IS_ERR(file))
		return PTR_ERR(file);
	err = cryo_is_mqueue(file) ? file_permission(file, MAY_READ) : -EIO;
	if (!err && !cryo_object_find(c, file_inode(file)) &&
	    !cryo_object_file(c, cryo_ipc_holder(c), file))
		err = -ENOMEM;
	fput(file);
	return err;
}

static bool collect_name(struct dir_context *ctx, const char *name, int len, loff_t pos, u64 ino,
			 unsigned int type)
{
	struct queue_reader *r = container_of(ctx, struct queue_reader, ctx);
	struct qstr key = QSTR_INIT(name, len);
	struct path path = { .mnt = r->at.mnt };

	if (type == DT_DIR)
		return true;
	key.hash = full_name_hash(r->at.dentry, name, len);
	path.dentry = d_lookup(r->at.dentry, &key);
	if (!path.dentry)
		return true;
	r->error = collect_queue(r->c, &path);
	if (r->error == -EACCES) {
		cryo_refuse(r->c, cryo_ipc_holder(r->c), "POSIX message queue %pd in its ipc namespace: you may not read it",
			    path.dentry);
		r->error = 0;
	}
	dput(path.dentry);
	return !r->error && !fatal_signal_pending(current);
}

static int collect_space(struct cryo_capture *c, struct cryo_ipc_space *space)
{
	struct queue_reader r = { .ctx.actor = collect_name, .c = c };
	struct file *dir;
	int err;

	if (IS_ERR_OR_NULL(space->ns->mq_mnt))
		return 0;
	r.at.mnt = space->ns->mq_mnt;
	r.at.dentry = r.at.mnt->mnt_root;
	dir = dentry_open(&r.at, O_RDONLY | O_DIRECTORY, current_cred());
	if (IS_ERR(dir))
		return PTR_ERR(dir);
	err = iterate_dir(dir, &r.ctx);
	fput(dir);
	return err ?: r.error;
}

int cryo_collect_mqueues(struct cryo_capture *c)
{
	struct cryo_ipc_space *space;
	int err = 0;

	list_for_each_entry(space, &c->ipc_spaces, node) {
		if (space->number)
			err = collect_space(c, space);
		if (err)
			break;
	}
	return err;
}

static size_t mq_bytes(const struct cryo_mq_info *queue)
{
	return queue->qsize + queue->attr.mq_curmsgs * sizeof(struct cryo_message);
}

/* From the highest priority down, as they would be received. */
static void copy_mq_messages(const struct cryo_mq_info *queue, u8 *out)
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

	for (tries = 0; tries < MQ_TRIES; tries++) {
		cryo_buf_free(buf);
		cryo_buf_put(buf, head, sizeof(*head));
		spin_lock(&queue->lock);
		size = mq_bytes(queue);
		spin_unlock(&queue->lock);
		out = cryo_buf_add(buf, size);
		if (!out)
			return buf->error;
		spin_lock(&queue->lock);
		same = mq_bytes(queue) == size;
		head->messages = queue->attr.mq_curmsgs;
		if (same)
			copy_mq_messages(queue, out);
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
 * The table that a process makes for itself in a restart is closed when it takes the shared one,
 * and its notifications with it.
 */
static bool notifies_sharer(struct cryo_capture *c, const struct cryo_mqueue *queue)
{
	struct cryo_proc *p;
	bool shares = false;

	cryo_for_each_proc(p, c->req) {
		if (p->pid != queue->notify_pid)
			continue;
		shares = cryo_has_table_of_other(c, p);
	}
	return shares;
}

static int save_mqueue(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_mq_info *queue = cryo_mq_info(file_inode(o->file));
	struct cryo_mqueue out = {
		.max_messages = queue->attr.mq_maxmsg,
		.message_size = queue->attr.mq_msgsize,
	};
	struct cryo_ipc_space *space;
	struct cryo_buf buf = {};
	int err;

	space = cryo_ipc_space_of(c, file_inode(o->file)->i_sb->s_fs_info);
	if (!space) {
		cryo_refuse(c, o->proc, "POSIX message queue %pd: it is of an ipc namespace that no process of the job is in",
			    o->file->f_path.dentry);
		return 0;
	}
	out.ns = space->number;
	if (!(o->file->f_mode & FMODE_READ) && file_permission(o->file, MAY_READ)) {
		cryo_refuse(c, o->proc, "POSIX message queue %pd: you may not read it",
			    o->file->f_path.dentry);
		return 0;
	}
	if (!describe_notification(c, queue, &out)) {
		cryo_refuse(c, o->proc, "POSIX message queue %pd: its notification by a thread (SIGEV_THREAD) is not supported",
			    o->file->f_path.dentry);
		return 0;
	}
	if (out.notify_pid && notifies_sharer(c, &out)) {
		cryo_refuse(c, o->proc, "POSIX message queue %pd: its notification of pid %d, which shares its descriptors (CLONE_FILES), is not supported",
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

const struct cryo_file_kind cryo_file_kind_mqueue = {
	.kind = CRYO_FILE_MQUEUE,
	.needs = CRYO_NEEDS_LAYOUT(MQUEUE),
	.save_inode = save_mqueue,
};
