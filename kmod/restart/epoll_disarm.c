// SPDX-License-Identifier: GPL-2.0-only
/*
 * epoll_disarm.c - disarmed EPOLLONESHOT registrations
 *
 * epoll_ctl(2) cannot make one: it always asks for EPOLLERR and EPOLLHUP.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>

#include <cryo/ioctl.h>

#include "compat/eventpoll.h"
#include "compat/layouts.h"
#include "lib/args.h"
#include "restart/calls.h"
#include "save/files.h"

static int disarm_target(struct file *epoll, struct file *target,
			 const struct cryo_epoll_disarm *args)
{
	struct cryo_epitem *epi;
	int err = -ENOENT;

	/*
	 * Its private data are what they are taken for: a user can give files of other kinds that
	 * name.
	 */
	if (file_inode(epoll)->i_sb->s_magic != ANON_INODE_FS_MAGIC || !cryo_is_epoll(epoll))
		return -EINVAL;
	if (!cryo_layout_fits(CRYO_LAYOUT_EPOLL))
		return -EOPNOTSUPP;
	spin_lock(&target->f_lock);
	epi = cryo_epitem_of(epoll, target, args->fd);
	if (epi) {
		__poll_t events = READ_ONCE(epi->event.events);

		err = (__force u32)events == args->events ? 0 : -EBUSY;
		if (!err)
			WRITE_ONCE(epi->event.events, events & CRYO_EPOLL_STAYS);
	}
	spin_unlock(&target->f_lock);
	return err;
}

/* CRYO_RST_EPOLL_DISARM */
long cryo_restart_epoll_disarm(void __user *arg)
{
	struct cryo_epoll_disarm args;
	struct file *epoll, *target;
	int err;

	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_epoll_disarm, events),
			     arg);
	if (err)
		return err;
	epoll = fget(args.epoll_fd);
	if (!epoll)
		return -EBADF;
	target = fget(args.target_fd);
	err = target ? disarm_target(epoll, target, &args) : -EBADF;
	if (target)
		fput(target);
	fput(epoll);
	return err;
}
