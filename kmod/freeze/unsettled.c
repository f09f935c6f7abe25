// SPDX-License-Identifier: GPL-2.0-only
/*
 * unsettled.c - what processes are about to finish by themselves
 *
 * Some of what cannot be saved is there for a moment only: an event of fanotify that has not been
 * read or answered, what the kernel has answered by netlink (getaddrinfo(3) asks it for addresses
 * each time), a connection that is being made. Those who are parked finish nothing, so they get
 * time for that before (freeze.c).
 */
#include <linux/net.h>
#include <linux/sched/task.h>
#include <net/sock.h>

#include "access/access.h"
#include "freeze/freeze.h"
#include "lib/wait.h"
#include "lib/walk_files.h"
#include "lib/walk_tasks.h"
#include "request/request.h"
#include "save/files.h"
#include "save/net.h"

static bool is_unfinished(const void *arg, struct file *file)
{
	struct socket *sock = sock_from_file(file);
	struct sock *sk = sock ? READ_ONCE(sock->sk) : NULL;

	if (sk)
		return cryo_netlink_unread(sk) || cryo_tcp_unsettled(sk);
	return cryo_is_fanotify(file) && cryo_fanotify_unread(file);
}

static bool is_answerer(const void *arg, struct file *file)
{
	return cryo_is_fanotify(file) && cryo_fanotify_answers(file);
}

static bool has_files(void *arg, struct task_struct *thread)
{
	return READ_ONCE(thread->files);
}

/* Of the process of @member, whose first thread may have ended; counted. NULL: none. */
static struct task_struct *thread_with_files(struct task_struct *member)
{
	struct cryo_thread_walk walk = { .member = member };
	struct task_struct *found;
	unsigned int n;

	do {
		n = cryo_walk_threads(&walk, has_files, NULL, &found, 1);
		cond_resched();
	} while (!n && walk.more && !fatal_signal_pending(current));
	cryo_walk_threads_end(&walk);
	return n ? found : NULL;
}

/* It may be another program by now, whose descriptors are none of the requester's business. */
static bool has_open_file(struct cryo_request *req, struct task_struct *task,
			  bool (*wanted)(const void *arg, struct file *file))
{
	struct cryo_file_walk walk = { .wanted = wanted };
	bool has = false;

	task = thread_with_files(task);
	if (!task)
		return false;
	if (!cryo_may_trace(task))
		goto put;
	do {
		has = cryo_walk_files(&walk, task);
	} while (walk.more && !cryo_request_interrupted(req));
put:
	put_task_struct(task);
	return has;
}

/* Has one of the processes in scope something that it is likely to be through with soon? */
bool cryo_freeze_unsettled(struct cryo_request *req)
{
	struct cryo_proc *proc;

	cryo_for_each_proc(proc, req) {
		if (cryo_request_interrupted(req))
			break;
		if (!proc->omitted && has_open_file(req, proc->leader, is_unfinished))
			return true;
	}
	return false;
}

/*
 * Who answers others is asked to park when they have: they would wait for it. Returns whether there
 * is somebody.
 */
bool cryo_find_answerers(struct cryo_request *req)
{
	struct cryo_proc *proc;
	bool any = false;

	cryo_for_each_proc(proc, req) {
		if (cryo_request_interrupted(req))
			break;
		proc->answers = !proc->omitted && has_open_file(req, proc->leader, is_answerer);
		any |= proc->answers;
	}
	return any;
}

/*
 * A parked thread finishes nothing, and others may be waiting for it. Not for long. Returns whether
 * it is finished.
 */
bool cryo_wait_until_settled(struct cryo_request *req, unsigned long limit)
{
	while (cryo_freeze_unsettled(req)) {
		if (time_after(jiffies, limit) || cryo_request_interrupted(req))
			return false;
		cryo_sleep(CRYO_FREEZE_POLL_JIFFIES);
	}
	return true;
}
