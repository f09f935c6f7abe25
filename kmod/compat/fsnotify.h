/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/fsnotify_backend.h, and of fs/notify/inotify/inotify.h the number of a watch. */
#ifndef CRYO_COMPAT_FSNOTIFY_H
#define CRYO_COMPAT_FSNOTIFY_H

#include <linux/fanotify.h>
#include <linux/fs.h>
#include <linux/fsnotify_backend.h>
#include <linux/idr.h>
#include <linux/inotify.h>
#include <linux/version.h>

/* As in struct inotify_inode_mark, which is the same from v4.12 to 7.2. */
struct cryo_inotify_mark {
	struct fsnotify_mark mark;
	int wd;
};

static inline int cryo_inotify_wd(struct fsnotify_mark *mark)
{
	return container_of(mark, struct cryo_inotify_mark, mark)->wd;
}

/* As struct inotify_event_info, which is the same from v5.13 to 7.2. */
struct cryo_inotify_info {
	struct fsnotify_event event;
	u32 mask;
	int wd;
	u32 cookie;
	int name_len;
	char name[];
};

/* What inotify_add_watch(2) was asked for, as fdinfo shows it. */
static inline u32 cryo_inotify_mask(const struct fsnotify_mark *mark)
{
	u32 mask = mark->mask & IN_ALL_EVENTS;

	if (mark->flags & FSNOTIFY_MARK_FLAG_EXCL_UNLINK)
		mask |= IN_EXCL_UNLINK;
	if (mark->flags & FSNOTIFY_MARK_FLAG_IN_ONESHOT)
		mask |= IN_ONESHOT;
	return mask;
}

/* With the group's lock, of an inotify mark. The object itself since v6.10 (230d97d39e28). */
static inline struct inode *cryo_mark_inode(const struct fsnotify_mark *mark)
{
	if (!mark->connector || mark->connector->type != FSNOTIFY_OBJ_TYPE_INODE)
		return NULL;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
	return mark->connector->obj;
#else
	return container_of(mark->connector->obj, struct inode, i_fsnotify_marks);
#endif
}

/* With the group's lock: of a kind that came after inodes, mounts and file systems. */
static inline bool cryo_mark_is_new(const struct fsnotify_mark *mark)
{
	return mark->connector && mark->connector->type > FSNOTIFY_OBJ_TYPE_SB &&
	       mark->connector->type < FSNOTIFY_OBJ_TYPE_COUNT;
}

/* The flags of fanotify_mark(2) that a mark keeps, as fdinfo shows them. */
static inline u32 cryo_fanotify_mark_flags(const struct fsnotify_mark *mark)
{
	u32 flags = 0;

	if (mark->flags & FSNOTIFY_MARK_FLAG_IGNORED_SURV_MODIFY)
		flags |= FAN_MARK_IGNORED_SURV_MODIFY;
	if (mark->flags & FSNOTIFY_MARK_FLAG_NO_IREF)
		flags |= FAN_MARK_EVICTABLE;
	if (mark->flags & FSNOTIFY_MARK_FLAG_HAS_IGNORE_FLAGS)
		flags |= FAN_MARK_IGNORE;
	return flags;
}

/* Permission events: the operation waits for an answer. */
#define CRYO_FAN_PERM_EVENTS	(FANOTIFY_PERM_EVENTS)

/* Since v6.14: asked before a file is written to as well. */
#ifdef FAN_PRE_ACCESS
#define CRYO_FAN_PRE_ACCESS	FAN_PRE_ACCESS
#else
#define CRYO_FAN_PRE_ACCESS	0
#endif

#endif
