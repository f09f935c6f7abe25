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
#include <linux/sort.h>
#include <linux/string.h>

#include "compat/eventpoll.h"
#include "cryo.h"
#include "fdinfo.h"

bool cryo_is_epoll(struct file *file)
{
	return cryo_is_anon_file(file, "[eventpoll]");
}

/* A registration. There may be any number of them: they are sorted, by all but @queued. */
struct registration {
	const void *epoll;		/* identity only */
	u64 data;
	u32 fd, events;
	u32 file;			/* number of the target's object */
	u32 queued;
};

static int compare_u64(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

static int compare_registrations(const void *a, const void *b)
{
	const struct registration *x = a, *y = b;

	return compare_u64((unsigned long)x->epoll, (unsigned long)y->epoll) ?:
	       compare_u64(x->fd, y->fd) ?: compare_u64(x->events, y->events) ?:
	       compare_u64(x->data, y->data) ?: compare_u64(x->file, y->file);
}

static unsigned int count_registrations(struct file *file)
{
	struct cryo_epitem *epi;
	unsigned int n = 0;

	spin_lock(&file->f_lock);
	hlist_for_each_entry(epi, cryo_epitems(file), fllink)
		n++;
	spin_unlock(&file->f_lock);
	return n;
}

static unsigned int fill_registrations(struct cryo_object *o, struct registration *out,
				       unsigned int room)
{
	struct cryo_epitem *epi;
	unsigned int n = 0;

	spin_lock(&o->file->f_lock);
	hlist_for_each_entry(epi, cryo_epitems(o->file), fllink) {
		if (n == room)
			break;
		out[n++] = (struct registration){
			.epoll = epi->ep,
			.data = epi->event.data,
			.fd = epi->ffd.fd,
			.events = (__force u32)epi->event.events,
			.file = o->id,
			.queued = !list_empty(&epi->rdllink),
		};
	}
	spin_unlock(&o->file->f_lock);
	return n;
}

/* Whoever can add to them is parked, or not in the context. */
static int find_registrations(struct cryo_capture *c)
{
	struct cryo_buf *buf = &c->registrations;
	struct registration *out;
	struct cryo_object *o;
	unsigned int n;
	int err;

	list_for_each_entry(o, &c->files, node) {
		err = cryo_look_interrupted(c);
		if (err)
			return err;
		n = READ_ONCE(o->file->f_ep) ? count_registrations(o->file) : 0;
		if (!n)
			continue;
		out = cryo_buf_add(buf, n * sizeof(*out));
		if (!out)
			return buf->error;
		buf->len -= (n - fill_registrations(o, out, n)) * sizeof(*out);
		cond_resched();
	}
	sort(buf->data, buf->len / sizeof(*out), sizeof(*out), compare_registrations, NULL);
	c->registrations_found = true;
	return 0;
}

/* The first that is not less than @key, if it is of the same epoll and looks the same. */
static const struct registration *find_registration(struct cryo_capture *c,
						    const struct registration *key)
{
	const struct registration *all = (const void *)c->registrations.data;
	size_t low = 0, high = c->registrations.len / sizeof(*all), middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (compare_registrations(&all[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == c->registrations.len / sizeof(*all))
		return NULL;
	all += low;
	return all->epoll == key->epoll && all->fd == key->fd && all->events == key->events &&
	       all->data == key->data ? all : NULL;
}

/* The number of what has the descriptor @fd now; 0: nothing. They are in ascending order. */
static u32 file_at(struct cryo_capture *c, unsigned int fd)
{
	unsigned int low = 0, high = c->p->nr_fds, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (c->p->fds[middle].fd < fd)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == c->p->nr_fds || c->p->fds[low].fd != fd)
		return 0;
	return cryo_object_find(c, c->p->fds[low].file)->id;
}

/* What has the number now, if that is it, or else the first that looks the same. */
static const struct registration *find_target(struct cryo_capture *c, struct file *epoll,
					      const struct cryo_epoll_target *out)
{
	struct registration key = {
		.epoll = epoll->private_data,
		.data = out->data,
		.fd = out->fd,
		.events = out->events,
		.file = file_at(c, out->fd),
	};
	const struct registration *found = key.file ? find_registration(c, &key) : NULL;

	if (found && found->file == key.file)
		return found;
	key.file = 0;
	return find_registration(c, &key);
}

/* One line of fdinfo. */
static int save_target(struct cryo_capture *c, struct cryo_object *o, const char *line,
		       struct cryo_buf *buf)
{
	struct cryo_epoll_target out = {};
	const struct registration *target;
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
	out.file = target->file;
	if (target->queued)
		out.flags |= CRYO_EPOLL_QUEUED;
	cryo_buf_put(buf, &out, sizeof(out));
	return 0;
}

int cryo_save_epoll(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_array head = { .record_size = sizeof(struct cryo_epoll_target) };
	struct cryo_buf buf = {};
	int err = c->registrations_found ? 0 : find_registrations(c);
	char *text, *rest, *line;

	if (err)
		return err;
	text = cryo_fdinfo(o->file);
	if (IS_ERR(text))
		return PTR_ERR(text);
	rest = text;
	cryo_buf_put(&buf, &head, sizeof(head));
	while (!err && (line = strsep(&rest, "\n")))
		if (*line)
			err = cryo_look_interrupted(c) ?: save_target(c, o, line, &buf);
	kvfree(text);
	if (err || buf.error) {
		err = err ?: buf.error;
		cryo_buf_free(&buf);
		return err;
	}
	((struct cryo_array *)buf.data)->count = (buf.len - sizeof(head)) / head.record_size;
	return cryo_stream_buf(&c->stream, CRYO_SEC_EPOLL, o->id, sizeof(head), &buf);
}
