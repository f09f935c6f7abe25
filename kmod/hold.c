// SPDX-License-Identifier: GPL-2.0-only
/*
 * hold.c - threads of a restarted process that wait until its callbacks are through
 *
 * What a callback makes anew after a restart, a device or a connection, is not there
 * before.  So the other threads are held on their way to user mode, until the helper
 * lets them go, or a while has passed: one of them may have a lock that a callback
 * wants.
 *
 * The wait is a task work of its own that lets others run, so that a held thread can be
 * checkpointed.  A stop, a tracer and death end it; handlers of signals run when the thread
 * goes on.
 */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/uaccess.h>

#include "cryo.h"
#include "participant.h"
#include "point.h"
#include "unload.h"

#define HOLD_POLL_JIFFIES	max(HZ / 50, 1)

struct cryo_held {
	struct callback_head work;
	struct list_head node;		/* in cryo_participant.held */
	struct cryo_participant *p;	/* counted */
	struct pid *tid;		/* counted */
	unsigned long limit;		/* jiffies */
	bool passing;			/* the next time, only queue again */

	/* Under cryo_participants_lock. */
	bool settled;			/* the thread is as it was at the checkpoint */
	bool go;
};

/* The registration of the caller's process that holds its threads, counted; or NULL. */
static struct cryo_participant *find_holder(void)
{
	struct cryo_participant *p = NULL;

	spin_lock(&cryo_participants_lock);
	while ((p = cryo_participant_find(task_tgid(current), p)))
		if (p->holding)
			break;
	if (p)
		kref_get(&p->ref);
	spin_unlock(&cryo_participants_lock);
	return p;
}

/* Before the caller parks for its restart. */
struct cryo_held *cryo_held_alloc(void)
{
	struct cryo_participant *p = find_holder();
	struct cryo_held *h;

	if (!p)
		return ERR_PTR(-EINVAL);
	h = kzalloc(sizeof(*h), GFP_KERNEL_ACCOUNT);
	if (!h) {
		cryo_participant_put(p);
		return ERR_PTR(-ENOMEM);
	}
	h->p = p;
	h->tid = get_pid(task_pid(current));
	spin_lock(&cryo_participants_lock);
	list_add_tail(&h->node, &p->held);
	p->unsettled++;
	spin_unlock(&cryo_participants_lock);
	return h;
}

/* NULL is fine. */
void cryo_held_free(struct cryo_held *h)
{
	if (!h)
		return;
	spin_lock(&cryo_participants_lock);
	list_del(&h->node);
	if (!h->settled)
		h->p->unsettled--;
	spin_unlock(&cryo_participants_lock);
	wake_up_all(&h->p->hold_wait);
	put_pid(h->tid);
	cryo_participant_put(h->p);
	kfree(h);
}

static bool may_go(struct cryo_held *h)
{
	bool go;

	spin_lock(&cryo_participants_lock);
	go = h->go || !h->p->holding || h->p->closed;
	spin_unlock(&cryo_participants_lock);
	return go || time_after_eq(jiffies, h->limit);
}

/* What only the way to user mode can see to: then the thread is held no longer. */
static bool must_go(void)
{
	return fatal_signal_pending(current) || current->ptrace ||
	       READ_ONCE(current->jobctl) & JOBCTL_PENDING_MASK;
}

/* Until @h may go on, or another work of the thread is to run. Other signals wait. */
static void wait_for_helper(struct cryo_held *h)
{
	DEFINE_WAIT(wait);
	bool pending;
	long left;

	for (;;) {
		pending = signal_pending(current);
		prepare_to_wait(&h->p->hold_wait, &wait,
				(pending ? TASK_KILLABLE : TASK_INTERRUPTIBLE) | TASK_FREEZABLE);
		if (may_go(h) || must_go() || task_work_pending(current))
			break;
		left = max_t(long, h->limit - jiffies, 1);
		schedule_timeout(pending ? min_t(long, left, HOLD_POLL_JIFFIES) : left);
	}
	finish_wait(&h->p->hold_wait, &wait);
}

/*
 * Works run in batches, the last one that was queued first.  The one that came meanwhile is in
 * the next batch, behind ours: that round we only pass on.
 */
static bool stays(struct cryo_held *h)
{
	h->passing = !h->passing;
	if (h->passing) {
		wait_for_helper(h);
		if (may_go(h) || must_go())
			return false;
	}
	return !task_work_add(current, &h->work, TWA_RESUME);
}

static void hold(struct callback_head *work)
{
	struct cryo_held *h = container_of(work, struct cryo_held, work);

	cryo_point("holding");
	if (!(current->flags & PF_EXITING) && stays(h))
		return;
	cryo_point("held-end");
	cryo_held_free(h);
	cryo_look_at_signals();
	cryo_unload_put();
}

/* In the thread, when all else of its restart is done: takes @h. */
void cryo_held_start(struct cryo_held *h)
{
	h->limit = jiffies + msecs_to_jiffies(CRYO_CLIENT_HOLD_MS);
	spin_lock(&cryo_participants_lock);
	h->settled = true;
	h->p->unsettled--;
	spin_unlock(&cryo_participants_lock);
	wake_up_all(&h->p->hold_wait);
	init_task_work(&h->work, hold);
	cryo_unload_get();
	hold(&h->work);
}

/* Have all threads that @p holds, the caller's, got what they had, masks of signals and all? */
bool cryo_held_settled(struct cryo_participant *p)
{
	bool settled;

	spin_lock(&cryo_participants_lock);
	settled = !p->unsettled;
	spin_unlock(&cryo_participants_lock);
	return settled;
}

/*
 * A signal that the restart sends to the process of @tgid when it is through with it comes
 * when the callbacks are.  False: there are none.
 */
bool cryo_held_signal(struct pid *tgid, int signal)
{
	struct cryo_participant *p = NULL;

	spin_lock(&cryo_participants_lock);
	while ((p = cryo_participant_find(tgid, p)))
		if (p->holding)
			break;
	if (p)
		p->late_signal = signal;
	spin_unlock(&cryo_participants_lock);
	return p;
}

/* All threads that @p, the caller's, holds go on. */
void cryo_held_end(struct cryo_participant *p)
{
	int signal;

	spin_lock(&cryo_participants_lock);
	p->holding = false;
	signal = p->late_signal;
	p->late_signal = 0;
	spin_unlock(&cryo_participants_lock);
	if (signal)
		kill_pid(task_tgid(current), signal, 0);
	wake_up_all(&p->hold_wait);
}

/* CRYO_CLIENT_GO; @p is the caller's. */
long cryo_held_go(struct cryo_participant *p, void __user *arg)
{
	struct cryo_client_go args = {};
	struct cryo_held *h;
	struct pid *tid;
	int err;

	err = cryo_copy_args(&args, sizeof(args), sizeof(args), arg);
	if (err)
		return err;
	if (args.tid < 0)
		return -EINVAL;
	if (!args.tid) {
		cryo_held_end(p);
		return 0;
	}
	tid = find_get_pid(args.tid);
	err = -ESRCH;
	spin_lock(&cryo_participants_lock);
	list_for_each_entry(h, &p->held, node) {
		if (h->tid != tid)
			continue;
		h->go = true;
		err = 0;
	}
	spin_unlock(&cryo_participants_lock);
	put_pid(tid);
	wake_up_all(&p->hold_wait);
	return err;
}
