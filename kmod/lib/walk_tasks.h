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

/*
 * From the number *@at (the first is 1) in the outermost pid namespace on: puts up to
 * CRYO_WALK_FOUND tasks of that @type (PIDTYPE_TGID: processes; PIDTYPE_PID: threads) into @found,
 * counted, and returns how many. *@at is the number to go on with then, or 0: there is none.
 */
unsigned int cryo_walk_tasks(enum pid_type type, cryo_wanted_fn wanted, void *arg,
			     struct task_struct **found, int *at);

/*
 * The threads of one process. cryo_walk_threads_end() when it is given up before it has come to its
 * end.
 */
struct cryo_thread_walk {
	struct task_struct *member;	/* any of them; the caller's */
	struct task_struct *at;		/* counted: goes on behind it. NULL: begins */
	bool more;			/* has not come to the end */
	bool anew;			/* has had to begin anew */
};

/*
 * Puts those that are @wanted, up to @room of them, into @found, counted, as above. Who comes
 * meanwhile may be missed. When the thread behind which it would go on has gone, it begins anew:
 * whoever calls this until there are no @more looks at the time, too.
 */
unsigned int cryo_walk_threads(struct cryo_thread_walk *w, cryo_wanted_fn wanted, void *arg,
			       struct task_struct **found, unsigned int room);
void cryo_walk_threads_end(struct cryo_thread_walk *w);

#endif /* CRYO_WALK_TASKS_H */
