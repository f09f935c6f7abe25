// SPDX-License-Identifier: GPL-2.0-only
/*
 * processes.c - looking for a process, or a thread, of a request
 */
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>

#include "request/request.h"

struct cryo_proc *cryo_find_proc(struct cryo_request *req, struct task_struct *task)
{
	struct cryo_proc *p;

	if (!req->index)
		return NULL;
	hash_for_each_possible(req->index->by_group, p, hash, (unsigned long)task->signal)
		if (same_thread_group(p->leader, task))
			return p;
	return NULL;
}

struct cryo_parked *cryo_next_thread(struct cryo_proc *proc, struct cryo_parked *t)
{
	t = list_prepare_entry(t, &proc->threads, sibling);
	list_for_each_entry_continue(t, &proc->threads, sibling)
		if (READ_ONCE(t->state) != CRYO_PARK_GONE)
			return t;
	return NULL;
}

struct cryo_parked *cryo_find_parked(struct cryo_request *req, struct task_struct *task)
{
	struct cryo_parked *p;

	if (!req->index)
		return NULL;
	hash_for_each_possible(req->index->by_task, p, hash, (unsigned long)task)
		if (p->task == task)
			return p;
	return NULL;
}

/* From here on a thread either is seen to be gone, or stays until cryo_inspect_end(). */
void cryo_inspect_begin(struct cryo_request *req)
{
	spin_lock_irq(&req->park_lock);
	WRITE_ONCE(req->looking, true);
	spin_unlock_irq(&req->park_lock);
}

void cryo_inspect_end(struct cryo_request *req)
{
	spin_lock_irq(&req->park_lock);
	WRITE_ONCE(req->looking, false);
	spin_unlock_irq(&req->park_lock);
	wake_up_all(&req->look_wait);
}
