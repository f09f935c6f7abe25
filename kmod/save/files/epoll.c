// SPDX-License-Identifier: GPL-2.0-only
/*
 * epoll.c - epoll(7)
 *
 * A registration is a descriptor number and an open file, which is most often what has that number,
 * but may have lost it, and live on under another one. fdinfo tells the number only, and waits for
 * a lock that whoever shares the epoll, or has sent it to the job, holds for as long as he likes:
 * epoll_wait(2) has it while it writes to user memory.
 */
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>

#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "compat/eventpoll.h"
#include "lib/buf.h"
#include "paths/fdinfo.h"
#include "resources.h"
#include "save/files.h"

bool cryo_is_epoll(struct file *file)
{
	return cryo_is_anon_file(file, "[eventpoll]");
}

static void save_target(struct cryo_capture *c, struct cryo_object *o, struct cryo_epitem *epi,
			struct cryo_buf *buf)
{
	/* Identity only: others' may be about to go. */
	const struct cryo_object *target = cryo_object_find(c, epi->ffd.file);
	struct cryo_epoll_target out = {
		.fd = epi->ffd.fd,
		.events = (__force u32)epi->event.events,
		.data = epi->event.data,
	};

	if (!target) {
		cryo_refuse(c, o->proc, "fd %d (epoll): watches a file that was fd %d and that only others have open",
			    o->fd, out.fd);
		return;
	}
	if (target->of_thread)
		cryo_refuse(c, o->proc, "fd %d (epoll): watches fd %d, a file of /proc about a thread other than the first",
			    o->fd, out.fd);
	out.file = target->id;
	if (!list_empty(&epi->rdllink))
		out.flags |= CRYO_EPOLL_QUEUED;
	cryo_buf_put(buf, &out, sizeof(out));
}

/* There may be any number of them. */
static int save_targets(struct cryo_capture *c, struct cryo_object *o, struct cryo_eventpoll *ep,
			struct cryo_buf *buf)
{
	struct rb_node *at;
	int err = 0;

	lockdep_assert_held(&ep->mtx);
	for (at = rb_first_cached(&ep->rbr); at && !err && !buf->error; at = rb_next(at)) {
		save_target(c, o, rb_entry(at, struct cryo_epitem, rbn), buf);
		cond_resched();
		err = cryo_capture_interrupted(c);
	}
	return err ?: buf->error;
}

static int save_epoll(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_array head = { .record_size = sizeof(struct cryo_epoll_target) };
	struct cryo_eventpoll *ep = o->file->private_data;
	struct cryo_buf buf = {};
	int err;

	err = cryo_busy_mutex_lock(c, o, &ep->mtx, "epoll");
	if (err)
		return err;
	cryo_buf_put(&buf, &head, sizeof(head));
	err = save_targets(c, o, ep, &buf);
	mutex_unlock(&ep->mtx);
	if (err) {
		cryo_buf_free(&buf);
		return err;
	}
	((struct cryo_array *)buf.data)->count = (buf.len - sizeof(head)) / head.record_size;
	return cryo_stream_buf(&c->stream, CRYO_SEC_EPOLL, o->id, sizeof(head), &buf);
}

const struct cryo_file_kind cryo_file_kind_epoll = {
	.kind = CRYO_FILE_EPOLL,
	.needs = CRYO_NEEDS_LAYOUT(EPOLL),
	.is = cryo_is_epoll,
	.save = save_epoll,
};
