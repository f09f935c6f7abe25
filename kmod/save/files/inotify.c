// SPDX-License-Identifier: GPL-2.0-only
/*
 * inotify.c - inotify(7)
 *
 * A watch is of an inode; it can be made again only by a path, so one is looked for, or by a
 * descriptor of what has been removed. Events that have not been read are saved as they are: their
 * watches may have gone.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/fs.h"
#include "compat/fsnotify.h"
#include "lib/buf.h"
#include "paths/fdinfo.h"
#include "paths/find.h"
#include "paths/mounts.h"
#include "resources.h"
#include "save/files.h"

bool cryo_is_inotify(struct file *file)
{
	return cryo_is_anon_file(file, "inotify");
}

struct inotify_watch {
	struct inode *inode;	/* counted */
	u32 wd;
	u32 mask;
};

static unsigned int list_watches(struct fsnotify_group *group, struct inotify_watch *watches,
				 unsigned int room)
{
	struct fsnotify_mark *mark;
	unsigned int n = 0;

	fsnotify_group_lock(group);
	list_for_each_entry(mark, &group->marks_list, g_list) {
		struct inode *inode = cryo_mark_inode(mark);

		if (inode && n < room) {
			watches[n].inode = igrab(inode);
			watches[n].wd = cryo_inotify_wd(mark);
			watches[n].mask = cryo_inotify_mask(mark);
		}
		n += !!inode;
	}
	fsnotify_group_unlock(group);
	return n;
}

static void put_watches(struct inotify_watch *watches, unsigned int n)
{
	while (n--)
		iput(watches[n].inode);
	kvfree(watches);
}

/* Watches do not change: whoever can change them is parked, or is noticed by the count. */
static struct inotify_watch *get_watches(struct fsnotify_group *group, unsigned int *count)
{
	unsigned int room = list_watches(group, NULL, 0), n;
	struct inotify_watch *watches;

	for (;;) {
		watches = kvcalloc(room + 1, sizeof(*watches), GFP_KERNEL_ACCOUNT);
		if (!watches)
			return NULL;
		n = list_watches(group, watches, room);
		if (n <= room)
			break;
		put_watches(watches, room);
		room = n;
	}
	*count = n;
	return watches;
}

#define MAX_ROUNDS	16
#define REMOVED_MARK	" (deleted)"	/* as doc/format.md has it */

/*
 * Of what has been removed, and is made again without a name as somebody of the job has it open:
 * where it was.
 */
static int find_removed(struct cryo_capture *c, const struct inotify_watch *watch, char *path,
			struct cryo_watch *out)
{
	struct cryo_object *o = cryo_object_find(c, watch->inode);
	struct cryo_inode inode;
	bool deleted;
	char *name;
	int err;

	if (!o || !(o->inode_flags & CRYO_INODE_DELETED))
		return -ENOENT;
	err = cryo_describe_inode(cryo_user_path(o->file), &inode);
	if (err)
		return err;
	name = cryo_path_name(cryo_user_path(o->file), path, PATH_MAX - sizeof(REMOVED_MARK),
			      &deleted);
	if (IS_ERR(name))
		return -ENOENT;
	memmove(path, name, strlen(name) + 1);
	strcat(path, REMOVED_MARK);
	out->dev = inode.dev;
	out->ino = inode.ino;
	return 0;
}

/* -ENOENT: it is of a file that has no path any more. */
static int save_watch(struct cryo_capture *c, struct cryo_object *o,
		      const struct inotify_watch *watch, char *path, struct cryo_buf *buf)
{
	const struct cryo_mounts *m = cryo_mounts_of(c, o->proc->task);
	struct cryo_watch out = { .wd = watch->wd, .mask = watch->mask };
	int err = -ENOENT;

	/* Made again by the process, which is in its mount namespace by then. */
	if (watch->inode)
		err = m ? cryo_find_path_inside(c, m, watch->inode, path) :
			  cryo_find_path(c, watch->inode, path);
	if (!err) {
		out.dev = new_encode_dev(watch->inode->i_sb->s_dev);
		out.ino = watch->inode->i_ino;
	} else if (err == -ENOENT && watch->inode) {
		err = find_removed(c, watch, path, &out);
	}
	if (err)
		return err;
	out.path_len = strlen(path);
	cryo_buf_put(buf, &out, sizeof(out));
	cryo_buf_put(buf, path, out.path_len);
	return 0;
}

/* @lost: the first that has no path. */
static int save_watches(struct cryo_capture *c, struct cryo_object *o,
			struct inotify_watch *watches, unsigned int n,
			struct cryo_buf *buf, u32 *lost)
{
	char *path = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	int err = path ? 0 : -ENOMEM;
	unsigned int i;

	for (i = 0; !err && i < n; i++) {
		err = cryo_capture_interrupted(c) ?: save_watch(c, o, &watches[i], path, buf);
		if (err == -ENOENT) {
			*lost = *lost ?: watches[i].wd;
			err = 0;
		}
		cond_resched();
	}
	kfree(path);
	return err;
}

/* A restart gets to a number by all those before it. */
static u32 highest_number(const struct inotify_watch *watches, unsigned int n, u32 next)
{
	while (n--)
		next = max(next, watches[n].wd);
	return next;
}

/* How many bytes they take; at @to are those for which there is room, if there is for all. */
static size_t copy_events(struct fsnotify_group *group, u8 *to, size_t room, u32 *count)
{
	struct fsnotify_event *event;
	size_t used = 0;

	*count = 0;
	spin_lock(&group->notification_lock);
	list_for_each_entry(event, &group->notification_list, list) {
		const struct cryo_inotify_info *info =
			container_of(event, struct cryo_inotify_info, event);
		struct cryo_inotify_event out = {
			.wd = info->wd,
			.mask = info->mask & CRYO_INOTIFY_EVENTS,
			.cookie = info->cookie,
			.name_len = clamp(info->name_len, 0, CRYO_MAX_EVENT_NAME),
		};

		if (used + sizeof(out) + out.name_len <= room) {
			memcpy(to + used, &out, sizeof(out));
			memcpy(to + used + sizeof(out), info->name, out.name_len);
		}
		used += sizeof(out) + out.name_len;
		++*count;
	}
	spin_unlock(&group->notification_lock);
	return used;
}

/* More may come meanwhile, by what others do to the files. */
static int get_events(struct cryo_capture *c, struct fsnotify_group *group, struct cryo_buf *buf)
{
	struct cryo_array head = { .record_size = sizeof(struct cryo_inotify_event) };
	size_t used = copy_events(group, NULL, 0, &head.count), room = 0;
	int err = 0;

	while (!err && used > room) {
		room = used;
		cryo_buf_free(buf);
		cryo_buf_put(buf, &head, sizeof(head));
		if (!cryo_buf_add(buf, room))
			err = buf->error;
		else
			used = copy_events(group, buf->data + sizeof(head), room, &head.count);
		err = err ?: cryo_capture_interrupted(c);
	}
	if (err || !used)
		return err;
	memcpy(buf->data, &head, sizeof(head));
	buf->len = sizeof(head) + used;
	return 0;
}

static u32 next_watch(const struct fsnotify_group *group)
{
	return max(idr_get_cursor(&group->inotify_data.idr), 1U);
}

static int get_inotify(struct cryo_capture *c, struct cryo_object *o, struct cryo_inotify *head,
		       struct cryo_buf *buf, struct cryo_buf *events, u32 *lost, u32 *highest)
{
	struct fsnotify_group *group = o->file->private_data;
	struct inotify_watch *watches = get_watches(group, &head->watches);
	int err;

	if (!watches)
		return -ENOMEM;
	head->next_wd = next_watch(group);
	*highest = highest_number(watches, head->watches, head->next_wd);
	cryo_buf_put(buf, head, sizeof(*head));
	err = save_watches(c, o, watches, head->watches, buf, lost);
	put_watches(watches, head->watches);
	return err ?: cryo_capture_interrupted(c) ?: get_events(c, group, events);
}

/*
 * What others remove takes its watch along, and is told by an event: a context with both would have
 * a process wait for what has come already, so all of it is read again if a watch has gone between
 * the first and the last of it. Not for ever, while others go on removing.
 */
static int save_inotify(struct cryo_capture *c, struct cryo_object *o)
{
	const struct fsnotify_group *group = o->file->private_data;
	struct cryo_inotify head;
	struct cryo_buf buf = {}, events = {};
	unsigned int rounds = 0;
	bool differs;
	u32 lost, highest = 0;
	int err;

	do {
		cryo_buf_free(&buf);
		cryo_buf_free(&events);
		head = (struct cryo_inotify){};
		lost = 0;
		err = get_inotify(c, o, &head, &buf, &events, &lost, &highest);
		differs = list_watches(o->file->private_data, NULL, 0) != head.watches ||
			  next_watch(group) != head.next_wd;
	} while (!err && differs && ++rounds < MAX_ROUNDS);
	if (!err && differs)
		cryo_refuse(c, o->proc, "fd %d (inotify): its watches keep changing: try again",
			    o->fd);
	else if (lost)
		cryo_refuse(c, o->proc, "fd %d (inotify): watch %u is of a file that has no path any more",
			    o->fd, lost);
	if (highest > CRYO_HIGHEST_WATCH)
		cryo_refuse(c, o->proc, "fd %d (inotify): its next watch descriptor is %u, and a restart reaches %u at most",
			    o->fd, highest, CRYO_HIGHEST_WATCH);
	if (err) {
		cryo_buf_free(&buf);
		cryo_buf_free(&events);
		return err;
	}
	err = cryo_stream_buf(&c->stream, CRYO_SEC_INOTIFY, o->id, sizeof(head), &buf);
	if (err || !events.len) {
		cryo_buf_free(&events);
		return err;
	}
	return cryo_stream_buf(&c->stream, CRYO_SEC_INOTIFY_EVENTS, o->id,
			       sizeof(struct cryo_array), &events);
}

const struct cryo_file_kind cryo_file_kind_inotify = {
	.kind = CRYO_FILE_INOTIFY,
	.needs = CRYO_NEEDS_LAYOUT(INOTIFY),
	.is = cryo_is_inotify,
	.save = save_inotify,
};
