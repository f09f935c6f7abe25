/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * walk_tasks.h - all tasks, or the threads of one process, some in each RCU section
 */
#ifndef CRYO_WALK_TASKS_H
#define CRYO_WALK_TASKS_H

#include <linux/pid.h>
#include <linux/types.h>

struct task_struct;

#define CRYO_WALK_STEP	256	/* numbers, or threads, looked at in one RCU section */
#define CRYO_WALK_FOUND	64	/* tasks taken out of one, at most */

/* With rcu_read_lock(). */
typedef bool (*cryo_wanted_fn)(void *arg, struct task_struct *task);

/**
 * cryo_walk_tasks() - find tasks of the whole machine, a bounded number in each call
 * @type: PIDTYPE_TGID: processes; PIDTYPE_PID: threads
 * @wanted: called of each, with rcu_read_lock()
 * @arg: the first argument of @wanted
 * @found: room for CRYO_WALK_FOUND tasks; gets those that are wanted, with a reference each. NULL
 *	is fine if @wanted never returns true
 * @at: number in the outermost pid namespace to begin at, 1 at first; is the one to go on at then,
 *	or 0: there is none
 *
 * At most CRYO_WALK_STEP numbers are examined.
 *
 * Context: Takes rcu_read_lock(), and does not sleep; the caller may, between two calls.
 *
 * Return: how many are in @found.
 */
unsigned int cryo_walk_tasks(enum pid_type type, cryo_wanted_fn wanted, void *arg,
			     struct task_struct **found, int *at);

/*
 * The threads of one process. A walk that is given up before its end takes cryo_walk_threads_end().
 */
struct cryo_thread_walk {
	struct task_struct *member;	/* any of them; the caller's */
	struct task_struct *at;		/* counted: goes on behind it. NULL: begins */
	bool more;			/* has not come to the end */
	bool anew;			/* has had to begin anew */
};

/**
 * cryo_walk_threads() - find threads of a process, a bounded number in each call
 * @w: the walk; all zero but for its member at first
 * @wanted: called of each, with rcu_read_lock()
 * @arg: the first argument of @wanted
 * @found: gets those that are wanted, with a reference each
 * @room: how many fit there, at least one
 *
 * To be called while @w->more. A thread that is created meanwhile may be missed. If the one behind
 * which the call would go on has been reaped, it begins anew, and @w->anew is set: the caller
 * bounds the number of calls, or checks that it is not killed.
 *
 * Context: As of cryo_walk_tasks().
 *
 * Return: how many are in @found.
 */
unsigned int cryo_walk_threads(struct cryo_thread_walk *w, cryo_wanted_fn wanted, void *arg,
			       struct task_struct **found, unsigned int room);

/**
 * cryo_walk_threads_end() - end a walk, maybe before its last thread
 * @w: the walk; its reference is dropped, and another walk may begin
 */
void cryo_walk_threads_end(struct cryo_thread_walk *w);

#endif /* CRYO_WALK_TASKS_H */
