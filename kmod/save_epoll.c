// SPDX-License-Identifier: GPL-2.0-only
/*
 * save_epoll.c - epoll(7)
 *
 * A registration is a descriptor number and an open file.  fdinfo tells the number,
 * and which inode; the restart registers what that number is open on, so it has to
 * be still the same file.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "cryo.h"

bool cryo_is_epoll(struct file *file)
{
	return cryo_is_anon_file(file, "[eventpoll]");
}

static struct file *file_of(struct cryo_capture *c, unsigned int fd)
{
	unsigned int i;

	for (i = 0; i < c->nr_fds; i++)
		if (c->fds[i].fd == fd)
			return c->fds[i].file;
	return NULL;
}

/* One line of fdinfo. */
static int save_target(struct cryo_capture *c, struct cryo_object *o, const char *line,
		       struct cryo_buf *buf)
{
	struct cryo_epoll_target out = {};
	unsigned long long data, pos;
	unsigned long ino;
	struct file *file;
	int fd;

	if (sscanf(line, "tfd: %d events: %x data: %llx pos:%lli ino:%lx", &fd, &out.events, &data,
		   &pos, &ino) != 5)
		return -EPROTO;
	file = file_of(c, fd);
	if (!file || file_inode(file)->i_ino != ino) {
		cryo_refuse(c, "fd %d (epoll): watches a file that was fd %d and is not any more",
			    o->fd, fd);
		return 0;
	}
	out.fd = fd;
	out.data = data;
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
