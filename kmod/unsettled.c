// SPDX-License-Identifier: GPL-2.0-only
/*
 * unsettled.c - what processes are about to finish by themselves
 *
 * Some of what cannot be saved is there for a moment only: an event of inotify or fanotify that has not been read or
 * answered, what the kernel has answered by netlink (getaddrinfo(3) asks it for addresses each time), a connection that
 * is being made.  Those who are parked finish nothing, so they get time for that before (freeze.c).
 */
#include <linux/fdtable.h>
#include <linux/net.h>
#include <linux/sched/task.h>
#include <net/sock.h>

#include "cryo.h"

/* With files->file_lock. */
static int is_unsettled(const void *unused, struct file *file, unsigned int fd)
{
	struct socket *sock = sock_from_file(file);
	struct sock *sk = sock ? READ_ONCE(sock->sk) : NULL;

	if (sk)
		return cryo_netlink_unread(sk) || cryo_tcp_unsettled(sk);
	return (cryo_is_inotify(file) && cryo_inotify_unread(file)) ||
	       (cryo_is_fanotify(file) && cryo_fanotify_unread(file));
}

static bool has_unsettled(struct task_struct *task)
{
	bool has = false;

	task_lock(task);
	if (task->files)
		has = iterate_fd(task->files, 0, is_unsettled, NULL);
	task_unlock(task);
	return has;
}

/* Has one of the processes in scope something that it is likely to be through with soon? */
bool cryo_unsettled(struct cryo_request *req)
{
	struct cryo_proc *proc;

	cryo_for_each_proc(proc, req)
		if (!proc->omitted && has_unsettled(proc->leader))
			return true;
	return false;
}
