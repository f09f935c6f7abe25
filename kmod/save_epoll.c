// SPDX-License-Identifier: GPL-2.0-only
/*
 * save_epoll.c - epoll(7)
 *
 * A registration is a descriptor number and an open file.  fdinfo tells the number;
 * the file is most often what has that number, but may have lost it, and live on
 * under another one.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "compat/eventpoll.h"
#include "cryo.h"

bool cryo_is_epoll(struct file *file)
{
	return cryo_is_anon_file(file, "[eventpoll]");
}

/* Does @epoll watch @target by that number and for what @out says? */
static bool watches(struct file *epoll, struct file *target, struct cryo_epoll_target *out)
{
	struct cryo_epitem *epi;
	bool found;

	spin_lock(&target->f_lock);
	epi = cryo_epitem_of(epoll, target, out->fd);
	found = epi && (__force u32)epi->event.events == out->events &&
		epi->event.data == out->data;
	if (found && !list_empty(&epi->rdllink))
		out->flags |= CRYO_EPOLL_QUEUED;
	spin_unlock(&target->f_lock);
	return found;
}

static struct file *file_of(struct cryo_capture *c, unsigned int fd)
{
	unsigned int i;

	for (i = 0; i < c->p->nr_fds; i++)
		if (c->p->fds[i].fd == fd)
			return c->p->fds[i].file;
	return NULL;
}

static struct cryo_object *find_target(struct cryo_capture *c, struct file *epoll,
				       struct cryo_epoll_target *out)
{
	struct file *file = file_of(c, out->fd);
	struct cryo_object *o;

	if (file && watches(epoll, file, out))
		return cryo_object_find(c, file);
	list_for_each_entry(o, &c->files, node)
		if (READ_ONCE(o->file->f_ep) && watches(epoll, o->file, out))
			return o;
	return NULL;
}

/* One line of fdinfo. */
static int save_target(struct cryo_capture *c, struct cryo_object *o, const char *line,
		       struct cryo_buf *buf)
{
	struct cryo_epoll_target out = {};
	struct cryo_object *target;
	unsigned long long data;

	if (sscanf(line, "tfd: %d events: %x data: %llx", &out.fd, &out.events, &data) != 3)
		return -EPROTO;
	out.data = data;
	target = find_target(c, o->file, &out);
	if (!target) {
		cryo_refuse(c, "fd %d (epoll): watches a file that was fd %d and that only others have open",
			    o->fd, out.fd);
		return 0;
	}
	out.file = target->id;
	cryo_buf_put(buf, &out, sizeof(out));
	return 0;
}

int cryo_save_epoll(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_array head = { .record_size = sizeof(struct cryo_epoll_target) };
	struct cryo_buf buf = {};
	char *text = cryo_fdinfo(o->file);
	char *rest = text, *line;
	int err = 0;

	if (IS_ERR(text))
		return PTR_ERR(text);
	cryo_buf_put(&buf, &head, sizeof(head));
	while (!err && (line = strsep(&rest, "\n")))
		if (*line)
			err = save_target(c, o, line, &buf);
	kvfree(text);
	if (err || buf.error) {
		err = err ?: buf.error;
		cryo_buf_free(&buf);
		return err;
	}
	((struct cryo_array *)buf.data)->count = (buf.len - sizeof(head)) / head.record_size;
	return cryo_stream_buf(&c->stream, CRYO_SEC_EPOLL, o->id, sizeof(head), &buf);
}
