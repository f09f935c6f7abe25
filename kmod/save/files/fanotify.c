// SPDX-License-Identifier: GPL-2.0-only
/*
 * fanotify.c - fanotify(7)
 *
 * Marks are made again by paths: those of inodes are looked for as watches of inotify are; mounts
 * and file systems are told by fdinfo, and have a mount point.
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
#include "resources.h"
#include "save/files.h"

bool cryo_is_fanotify(struct file *file)
{
	return cryo_is_anon_file(file, "[fanotify]");
}

/* What waits to be read, and who waits for an answer. */
struct fanotify_load {
	unsigned int events;
	int permissions;
};

static struct fanotify_load load_of(struct fsnotify_group *group)
{
	struct fanotify_load load;

	spin_lock(&group->notification_lock);
	load.events = group->q_len;
	load.permissions = atomic_read(&group->user_waits);
	if (!load.permissions && !list_empty(&group->fanotify_data.access_list))
		load.permissions = 1;
	spin_unlock(&group->notification_lock);
	return load;
}

bool cryo_fanotify_unread(struct file *file)
{
	struct fanotify_load load = load_of(file->private_data);

	return load.events || load.permissions;
}

bool cryo_fanotify_answers(struct file *file)
{
	const struct fsnotify_group *group = file->private_data;

	/* Of class NOTIF, which has no permission events, it is 0 on all kernels. */
	return group->priority;
}

struct fanotify_inode_mark {
	struct inode *inode;	/* counted; NULL: it is going away */
	u32 flags, mask, ignored;
};

struct fanotify_mark_list {
	struct fanotify_inode_mark *marks;
	unsigned int n, room;
	bool others;		/* of kinds that are not known */
};

/* Those of inodes. Returns whether there was room. */
static bool list_marks(struct fsnotify_group *group, struct fanotify_mark_list *list)
{
	struct fsnotify_mark *mark;

	list->n = 0;
	fsnotify_group_lock(group);
	list_for_each_entry(mark, &group->marks_list, g_list) {
		struct inode *inode = cryo_mark_inode(mark);

		list->others |= cryo_mark_is_new(mark);
		if (inode && list->n < list->room) {
			list->marks[list->n].inode = igrab(inode);
			list->marks[list->n].flags = cryo_fanotify_mark_flags(mark);
			list->marks[list->n].mask = mark->mask;
			list->marks[list->n].ignored = mark->ignore_mask;
		}
		list->n += !!inode;
	}
	fsnotify_group_unlock(group);
	return list->n <= list->room;
}

static void put_marks(struct fanotify_mark_list *list)
{
	unsigned int i;

	for (i = 0; i < min(list->n, list->room); i++)
		iput(list->marks[i].inode);
	kvfree(list->marks);
	list->marks = NULL;
}

static int get_marks(struct fsnotify_group *group, struct fanotify_mark_list *list)
{
	list->room = 16;
	for (;;) {
		list->marks = kvcalloc(list->room, sizeof(*list->marks), GFP_KERNEL_ACCOUNT);
		if (!list->marks)
			return -ENOMEM;
		if (list_marks(group, list))
			return 0;
		put_marks(list);
		list->room = list->n + 16;
		if (fatal_signal_pending(current))
			return -EINTR;
	}
}

struct fanotify_save {
	struct cryo_capture *c;
	struct cryo_object *o;
	struct cryo_fanotify head;
	struct cryo_buf buf;
	char *path;
	u32 masks;		/* of all marks */
};

static void put_mark(struct fanotify_save *s, struct cryo_mark *out)
{
	out->path_len = strlen(s->path);
	cryo_buf_put(&s->buf, out, sizeof(*out));
	cryo_buf_put(&s->buf, s->path, out->path_len);
	s->masks |= out->mask;
	s->head.marks++;
}

static int save_inode_mark(struct fanotify_save *s, const struct fanotify_inode_mark *mark)
{
	struct cryo_mark out = { .kind = CRYO_MARK_INODE, .flags = mark->flags, .mask = mark->mask,
				 .ignored = mark->ignored };
	int err;

	if (!mark->inode)
		return 0;
	err = cryo_find_path(s->c, mark->inode, s->path);
	if (err == -ENOENT) {
		cryo_refuse(s->c, s->o->proc, "fd %d (fanotify): inode %lu, which a mark is of, is of a file that has no path any more",
			    s->o->fd, (unsigned long)mark->inode->i_ino);
		return 0;
	}
	if (err)
		return err;
	/* The kernel would not add such a mask now. */
	if (mark->ignored && !(mark->flags & FAN_MARK_IGNORED_SURV_MODIFY) &&
	    inode_is_open_for_write(mark->inode))
		cryo_refuse(s->c, s->o->proc, "fd %d (fanotify): events of %s are ignored until it is written to, and it is open for writing",
			    s->o->fd, s->path);
	out.dev = new_encode_dev(mark->inode->i_sb->s_dev);
	out.ino = mark->inode->i_ino;
	put_mark(s, &out);
	return 0;
}

/* The rest of a line of fdinfo. */
static bool take_masks(const char *text, struct cryo_mark *out)
{
	return sscanf(text, " mflags:%x mask:%x ignored_mask:%x", &out->flags, &out->mask,
		      &out->ignored) == 3;
}

static int save_line(struct fanotify_save *s, const char *line)
{
	struct cryo_mark out = {};
	u32 number;
	int err, end = 0;

	if (sscanf(line, "fanotify mnt_id:%x%n", &number, &end) == 1)
		out.kind = CRYO_MARK_MOUNT;
	else if (sscanf(line, "fanotify sdev:%x%n", &number, &end) == 1)
		out.kind = CRYO_MARK_FILESYSTEM;
	else
		return 0;
	if (!take_masks(line + end, &out))
		return -EIO;
	if (out.kind == CRYO_MARK_MOUNT)
		err = cryo_find_mount(s->c, number, 0, s->path);
	else
		err = cryo_find_mount(s->c, 0, number, s->path);
	if (err == -ENOENT) {
		cryo_refuse(s->c, s->o->proc, "fd %d (fanotify): a mark is of a mount or file system that no path leads to",
			    s->o->fd);
		return 0;
	}
	if (err)
		return err;
	if (out.kind == CRYO_MARK_FILESYSTEM)
		out.dev = new_encode_dev(number);
	put_mark(s, &out);
	return 0;
}

static int save_other_marks(struct fanotify_save *s)
{
	char *text = cryo_fdinfo(s->o->file), *rest = text, *line;
	int err = 0;

	if (IS_ERR(text))
		return PTR_ERR(text);
	while (!err && (line = strsep(&rest, "\n")))
		err = cryo_capture_interrupted(s->c) ?: save_line(s, line);
	kvfree(text);
	return err;
}

static int save_marks(struct fanotify_save *s)
{
	struct fanotify_mark_list list = {};
	unsigned int i;
	int err = get_marks(s->o->file->private_data, &list);

	if (err)
		return err;
	if (list.others)
		cryo_refuse(s->c, s->o->proc, "fd %d (fanotify): a mark of a mount namespace is not supported",
			    s->o->fd);
	for (i = 0; !err && i < list.n; i++) {
		err = cryo_capture_interrupted(s->c) ?: save_inode_mark(s, &list.marks[i]);
		cond_resched();
	}
	put_marks(&list);
	return err ?: save_other_marks(s);
}

/*
 * Will the checkpoint itself read files with a name, for which somebody who is parked may be asked?
 */
static bool reads_files(struct cryo_capture *c)
{
	const u32 nameless = CRYO_INODE_MEMFD | CRYO_INODE_SHMEM | CRYO_INODE_SYSV;
	struct cryo_object *o;

	list_for_each_entry(o, &c->inodes, node)
		if (o->inode_flags & CRYO_INODE_CONTENTS && !(o->inode_flags & nameless))
			return true;
	return !list_empty(&c->mount_spaces);
}

static void check_events(struct fanotify_save *s)
{
	struct fanotify_load load = load_of(s->o->file->private_data);
	int fd = s->o->fd;

	if (load.permissions)
		cryo_refuse(s->c, s->o->proc, "fd %d (fanotify): permission events that have not been answered are not supported",
			    fd);
	else if (load.events)
		cryo_refuse(s->c, s->o->proc, "fd %d (fanotify): %u events that have not been read are not supported",
			    fd, load.events);
	if (s->masks & CRYO_FAN_PRE_ACCESS)
		cryo_refuse(s->c, s->o->proc, "fd %d (fanotify): events before access (FAN_PRE_ACCESS) are not supported",
			    fd);
	else if (s->masks & CRYO_FAN_PERM_EVENTS && reads_files(s->c))
		cryo_refuse(s->c, s->o->proc, "fd %d (fanotify): permission events in a job with files that the checkpoint has to read are not supported",
			    fd);
}

static int save_fanotify(struct cryo_capture *c, struct cryo_object *o)
{
	struct fsnotify_group *group = o->file->private_data;
	struct fanotify_save s = { .c = c, .o = o };
	u32 flags = group->fanotify_data.flags;
	int err;

	s.head.init_flags = flags & ~FANOTIFY_INTERNAL_GROUP_FLAGS;
	s.head.event_flags = group->fanotify_data.f_flags;
	if (flags & FANOTIFY_UNPRIV)
		s.head.flags = CRYO_FANOTIFY_UNPRIVILEGED;
	cryo_buf_put(&s.buf, &s.head, sizeof(s.head));
	s.path = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	err = s.path ? save_marks(&s) : -ENOMEM;
	if (!err)
		check_events(&s);
	kfree(s.path);
	if (err || s.buf.error) {
		err = err ?: s.buf.error;
		cryo_buf_free(&s.buf);
		return err;
	}
	memcpy(s.buf.data, &s.head, sizeof(s.head));
	return cryo_stream_buf(&c->stream, CRYO_SEC_FANOTIFY, o->id, sizeof(s.head), &s.buf);
}

const struct cryo_file_kind cryo_file_kind_fanotify = {
	.kind = CRYO_FILE_FANOTIFY,
	.is = cryo_is_fanotify,
	.save = save_fanotify,
};
