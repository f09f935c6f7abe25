// SPDX-License-Identifier: GPL-2.0-only
/* pipe.c - pipes and FIFOs with all their ends in the scope: size and contents */
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/magic.h>
#include <linux/pipe_fs_i.h>

#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "lib/buf.h"
#include "resources.h"
#include "save/files.h"

/* An unnamed pipe: its inode is pipefs's own. */
bool cryo_is_pipe(struct file *file)
{
	return S_ISFIFO(file_inode(file)->i_mode) &&
	       file_inode(file)->i_sb->s_magic == PIPEFS_MAGIC;
}

static int put_packet(struct cryo_buf *buf, struct pipe_inode_info *pipe,
		      const struct pipe_buffer *b)
{
	struct cryo_pipe_packet head = {
		.length = b->len,
		.flags = b->flags & PIPE_BUF_FLAG_PACKET ? 1 : 0,
	};
	void *at;
	u8 *out;

	cryo_buf_put(buf, &head, sizeof(head));
	out = cryo_buf_add(buf, b->len);
	if (!out)
		return buf->error;
	at = kmap_local_page(b->page);
	memcpy(out, at + b->offset, b->len);
	kunmap_local(at);
	return 0;
}

/* By a descriptor: the inode itself has none. */
static void refuse_spliced(struct cryo_capture *c, struct cryo_object *inode)
{
	struct cryo_object *o = inode->opened;

	if (o)
		cryo_refuse(c, inode->proc, "fd %d (pipe): holds pages spliced into it (splice(2), vmsplice(2))",
			    o->fd >= 0 ? o->fd : o->carrier);
}

/* With the pipe locked. */
static int put_contents(struct cryo_capture *c, struct cryo_object *inode, struct cryo_buf *buf)
{
	struct pipe_inode_info *pipe = file_inode(inode->file)->i_pipe;
	struct cryo_pipe head = { .capacity = pipe->max_usage * PAGE_SIZE };
	unsigned int tail;
	int err = 0;

	cryo_buf_put(buf, &head, sizeof(head));
	for (tail = pipe->tail; !err && tail != pipe->head; tail++) {
		const struct pipe_buffer *b = &pipe->bufs[tail & (pipe->ring_size - 1)];

		if (b->offset + b->len > PAGE_SIZE) {
			refuse_spliced(c, inode);
			return 0;
		}
		err = put_packet(buf, pipe, b);
		head.packets++;
	}
	if (!err)
		((struct cryo_pipe *)buf->data)->packets = head.packets;
	return err;
}

/* Whether processes that are not in the scope hold an end: open files that we have not seen. */
bool cryo_pipe_is_shared(struct cryo_object *o)
{
	const struct pipe_inode_info *pipe = file_inode(o->file)->i_pipe;

	return !pipe || pipe->readers + pipe->writers > o->inode->ends;
}

static int save_pipe(struct cryo_capture *c, struct cryo_object *inode)
{
	struct pipe_inode_info *pipe = file_inode(inode->file)->i_pipe;
	struct cryo_buf buf = {};
	int err;

	err = cryo_busy_mutex_lock(c, inode->opened ?: inode, &pipe->mutex, "pipe");
	if (err)
		return err;
	err = put_contents(c, inode, &buf);
	mutex_unlock(&pipe->mutex);
	if (err) {
		cryo_buf_free(&buf);
		return err;
	}
	return cryo_stream_buf(&c->stream, CRYO_SEC_PIPE, inode->id, sizeof(struct cryo_pipe),
			       &buf);
}

const struct cryo_file_kind cryo_file_kind_pipe = {
	.kind = CRYO_FILE_PIPE,
	.save_inode = save_pipe,
};

static u64 fifo_position(struct cryo_object *o)
{
	return cryo_fifo_quiet(o->file) ? CRYO_FIFO_QUIET : 0;
}

const struct cryo_file_kind cryo_file_kind_fifo = {
	.kind = CRYO_FILE_FIFO,
	.position = fifo_position,
	.save_inode = save_pipe,
};
