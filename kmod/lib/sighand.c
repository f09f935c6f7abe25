// SPDX-License-Identifier: GPL-2.0-only
/*
 * sighand.c - lock_task_sighand() for modules
 *
 * sighand_struct is SLAB_TYPESAFE_BY_RCU: its lock may be taken while it is
 * being replaced (exec) or freed (exit), and is looked at again.
 */
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

#include "lib/sighand.h"

struct sighand_struct *cryo_lock_sighand(struct task_struct *task)
{
	struct sighand_struct *sighand;

	rcu_read_lock();
	for (;;) {
		sighand = rcu_dereference(task->sighand);
		if (!sighand)
			break;
		spin_lock_irq(&sighand->siglock);
		if (likely(sighand == rcu_access_pointer(task->sighand)))
			break;
		spin_unlock_irq(&sighand->siglock);
	}
	rcu_read_unlock();
	return sighand;
}

void cryo_unlock_sighand(struct sighand_struct *sighand)
{
	/*
	 * For sparse, which knows of no function that takes a lock at times: callers are balanced
	 * for it.
	 */
	__acquire(&sighand->siglock);
	spin_unlock_irq(&sighand->siglock);
}
