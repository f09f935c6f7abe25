// SPDX-License-Identifier: GPL-2.0-only
/*
 * exit_signal.c - which signal tells the parent of the caller's end
 *
 * The kernel gives it at clone(2), to a sibling (CLONE_PARENT) that of who forks it, and makes it
 * SIGCHLD by exec(2) and when the parent dies. So a process with one signal may have forked a
 * sibling with another, which no calls bring about again.
 *
 * Whoever could have forked the caller may have it told by any signal, and whoever may send him
 * that.
 */
#include <linux/errno.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/signal.h>

#include <cryo/ioctl.h>

#include "access/access.h"
#include "access/exceptions.h"
#include "lib/args.h"
#include "restart/calls.h"

static bool is_parent(struct task_struct *task)
{
	bool is;

	rcu_read_lock();
	is = rcu_dereference(current->real_parent) == task;
	rcu_read_unlock();
	return is;
}

/*
 * By execution ids: if the parent executes another program from here on, which may be one with more
 * rights, the kernel tells it by SIGCHLD, as it does of children that it has forked before.
 */
static int may_tell(const struct cryo_restarter *by, struct task_struct *parent)
{
	/*
	 * The counters are copied by fork(): those of one who has adopted the caller may be equal
	 * although it has executed something.
	 */
	if (READ_ONCE(parent->self_exec_id) != current->parent_exec_id ||
	    !cryo_is_descendant(by->coordinator, parent) ||
	    !cryo_cred_has_no_more(by->cred, parent))
		return -EPERM;
	return cryo_kill_as(current_cred(), task_tgid(parent), 0) ?
	       cryo_kill_as(by->cred, task_tgid(parent), 0) : 0;
}

/* CRYO_RST_EXIT_SIGNAL */
long cryo_restart_signal(const struct cryo_restarter *by, void __user *arg)
{
	struct cryo_exit_signal args;
	struct task_struct *parent;
	int err;

	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_exit_signal, signal),
			     arg);
	if (err)
		return err;
	if (args.signal < 0 || args.signal > _NSIG || !thread_group_leader(current))
		return -EINVAL;
	rcu_read_lock();
	parent = get_task_struct(rcu_dereference(current->real_parent));
	rcu_read_unlock();
	err = may_tell(by, parent);
	if (!err) {
		WRITE_ONCE(current->exit_signal, args.signal);
		/*
		 * Sends nothing, and waits for the tasklist_lock: who was adopted before that is
		 * seen to have been, and who is adopted after that gets SIGCHLD.
		 */
		kill_pgrp(task_pid(current), 0, 1);
		if (!is_parent(parent)) {
			WRITE_ONCE(current->exit_signal, SIGCHLD);
			err = -ESRCH;
		}
	}
	put_task_struct(parent);
	return err;
}
