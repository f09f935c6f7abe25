// SPDX-License-Identifier: GPL-2.0-only
/*
 * walk_tasks.c - all tasks, or the threads of one process, some in each RCU section
 *
 * Users can make as many as their limits allow, and one section for all of them would hold up the
 * grace periods of everybody. The lists change under tasklist_lock, which is not for modules.
 * Numbers are there to go on with whoever ends meanwhile; a thread that has been taken off its list
 * leads nowhere once a section has ended (as next_tid() of the kernel's /proc has it).
 */
#include <linux/idr.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "lib/walk_tasks.h"

unsigned int cryo_walk_tasks(enum pid_type type, cryo_wanted_fn wanted, void *arg,
			     struct task_struct **found, int *at)
{
	struct task_struct *task;
	unsigned int looked, n = 0;
	struct pid *pid;

	rcu_read_lock();
	for (looked = 0; looked < CRYO_WALK_STEP && n < CRYO_WALK_FOUND; looked++) {
		pid = idr_get_next(&init_pid_ns.idr, at);
		if (!pid) {
			*at = 0;
			break;
		}
		++*at;
		task = pid_task(pid, type);
		if (task && wanted(arg, task))
			found[n++] = get_task_struct(task);
	}
	rcu_read_unlock();
	return n;
}

unsigned int cryo_walk_threads(struct cryo_thread_walk *w, cryo_wanted_fn wanted, void *arg,
			       struct task_struct **found, unsigned int room)
{
	struct list_head *threads = &w->member->signal->thread_head;
	struct task_struct *t, *last = NULL;
	unsigned int looked = 0, n = 0;

	w->more = false;
	rcu_read_lock();
	w->anew = w->at && !pid_alive(w->at);
	t = w->anew ? NULL : w->at;
	t = list_prepare_entry(t, threads, thread_node);
	list_for_each_entry_continue_rcu(t, threads, thread_node) {
		last = t;
		if (wanted(arg, t))
			found[n++] = get_task_struct(t);
		w->more = ++looked == CRYO_WALK_STEP || n == room;
		if (w->more)
			break;
	}
	if (w->more)
		get_task_struct(last);
	rcu_read_unlock();
	if (w->at)
		put_task_struct(w->at);
	w->at = w->more ? last : NULL;
	return n;
}

void cryo_walk_threads_end(struct cryo_thread_walk *w)
{
	if (w->at)
		put_task_struct(w->at);
	w->at = NULL;
	w->more = false;
}
