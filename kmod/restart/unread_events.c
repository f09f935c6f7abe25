// SPDX-License-Identifier: GPL-2.0-only
/*
 * unread_events.c - events of inotify(7) that had not been read
 *
 * They cannot be caused once more: their watches may have gone, and what they tell of has happened.
 * So they are put where the kernel would have put them, behind what is there.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>

#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "access/access.h"
#include "compat/fsnotify.h"
#include "compat/layouts.h"
#include "lib/args.h"
#include "restart/calls.h"
#include "save/files.h"

/*
 * Of the caller, or of who restarts, who made it before the caller went into a user namespace of
 * the job; or of somebody whom one of them could become.
 */
static bool may_fill_queue(const struct cred *maker, const struct fsnotify_group *group)
{
	const struct ucounts *its = group->inotify_data.ucounts;

	return uid_eq(its->uid, current_euid()) || uid_eq(its->uid, maker->euid) ||
	       ns_capable(its->ns, CAP_SETUID) || cryo_maker_capable(maker, its->ns, CAP_SETUID);
}

static struct cryo_inotify_info *make_event(const struct cryo_inotify_put *args)
{
	struct cryo_inotify_info *info;
	int err = 0;

	/* With a NUL, as the kernel has it; freed by the kernel. */
	info = kmalloc(struct_size(info, name, args->name_len + 1), GFP_KERNEL_ACCOUNT);
	if (!info)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&info->event.list);
	info->mask = args->mask;
	info->wd = args->wd;
	info->cookie = args->cookie;
	info->name_len = args->name_len;
	info->name[args->name_len] = '\0';
	if (copy_from_user(info->name, (void __user *)(unsigned long)args->name, args->name_len))
		err = -EFAULT;
	else if (memchr(info->name, '\0', args->name_len) ||
		 memchr(info->name, '/', args->name_len))
		err = -EINVAL;
	if (!err)
		return info;
	kfree(info);
	return ERR_PTR(err);
}

/*
 * The event that tells of lost ones is the group's own, and is in the queue once. False: it is
 * there already.
 */
static bool queue_event(struct fsnotify_group *group, struct fsnotify_event *event)
{
	bool queued;

	spin_lock(&group->notification_lock);
	if (event && group->q_len >= group->max_events)
		event = NULL;
	queued = event;
	if (!event)
		event = group->overflow_event;
	if (list_empty(&event->list)) {
		list_add_tail(&event->list, &group->notification_list);
		group->q_len++;
	}
	spin_unlock(&group->notification_lock);
	wake_up(&group->notification_waitq);
	kill_fasync(&group->fsn_fa, SIGIO, POLL_IN);
	return queued;
}

static int put_event(const struct cred *maker, struct file *file,
		     const struct cryo_inotify_put *args)
{
	struct fsnotify_group *group = file->private_data;
	struct cryo_inotify_info *info;

	/* A user can give files of other kinds that name. */
	if (file_inode(file)->i_sb->s_magic != ANON_INODE_FS_MAGIC || !cryo_is_inotify(file))
		return -EINVAL;
	if (!cryo_layout_fits(CRYO_LAYOUT_INOTIFY))
		return -EOPNOTSUPP;
	if (!may_fill_queue(maker, group))
		return -EPERM;
	if (args->mask & IN_Q_OVERFLOW) {
		queue_event(group, NULL);
		return 0;
	}
	info = make_event(args);
	if (IS_ERR(info))
		return PTR_ERR(info);
	if (!queue_event(group, &info->event))
		kfree(info);
	return 0;
}

static bool is_event(const struct cryo_inotify_put *args)
{
	if (!args->mask || args->mask & ~CRYO_INOTIFY_EVENTS ||
	    args->name_len > CRYO_MAX_EVENT_NAME)
		return false;
	if (args->mask & IN_Q_OVERFLOW)
		return args->wd == -1 && !args->name_len;
	return args->wd > 0;
}

/* CRYO_RST_INOTIFY_EVENT */
long cryo_restart_inotify_event(const struct cred *maker, void __user *arg)
{
	struct cryo_inotify_put args;
	struct file *file;
	int err;

	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_inotify_put, name), arg);
	if (err)
		return err;
	if (!is_event(&args))
		return -EINVAL;
	file = fget(args.fd);
	if (!file)
		return -EBADF;
	err = put_event(maker, file, &args);
	fput(file);
	return err;
}
