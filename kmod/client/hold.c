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
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>

#include <cryo/client.h>

#include "client/client.h"
#include "lib/args.h"
#include "lib/point.h"
#include "lib/sighand.h"
#include "lib/unload.h"
#include "request/participant.h"

#define HOLD_POLL_JIFFIES	max(HZ / 50, 1)

struct cryo_held {
	struct callback_head work;
	struct task_struct *task;	/* the thread, which frees this before it ends */
	struct cryo_participant *p;	/* counted */
	struct pid *tid;		/* counted */
	unsigned long limit;		/* jiffies */
	bool passing;			/* the next time, only queue again */
	bool settled;			/* the thread is as it was at the checkpoint */
	bool go;			/* without the others */
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

/* Of @h, or it is not to be. */
static void note_settled(struct cryo_held *h)
{
	h->settled = true;
	if (atomic_dec_and_test(&h->p->unsettled))
		wake_up_all(&h->p->settle_wait);
}

static void free_held(struct cryo_held *h)
{
	put_pid(h->tid);
	cryo_participant_put(h->p);
	kfree(h);
}

/* Before the caller parks for its restart. */
struct cryo_held *cryo_held_alloc(void)
{
	struct cryo_participant *p = find_holder();
	struct cryo_held *h;
	int err;

	if (!p)
		return ERR_PTR(-EINVAL);
	h = kzalloc(sizeof(*h), GFP_KERNEL_ACCOUNT);
	if (!h) {
		cryo_participant_put(p);
		return ERR_PTR(-ENOMEM);
	}
	h->p = p;
	h->task = current;
	h->tid = get_pid(task_pid(current));
	atomic_inc(&p->unsettled);
	err = xa_insert(&p->held, pid_nr(h->tid), h, GFP_KERNEL_ACCOUNT);
	if (err) {
		note_settled(h);
		free_held(h);
		return ERR_PTR(err);
	}
	return h;
}

/* NULL is fine. By the thread itself, or before it has been held. */
void cryo_held_free(struct cryo_held *h)
{
	if (!h)
		return;
	/* Whoever lets it go has the lock: nobody has it any more. */
	xa_erase(&h->p->held, pid_nr(h->tid));
	if (!h->settled)
		note_settled(h);
	free_held(h);
}

static bool may_go(struct cryo_held *h)
{
	return READ_ONCE(h->go) || !READ_ONCE(h->p->holding) || READ_ONCE(h->p->closed) ||
	       time_after_eq(jiffies, h->limit);
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
	note_settled(h);
	init_task_work(&h->work, hold);
	cryo_unload_get();
	hold(&h->work);
}

/* Have all threads that @p holds, the caller's, got what they had, masks of signals and all? */
bool cryo_held_settled(struct cryo_participant *p)
{
	return !atomic_read(&p->unsettled);
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
	WRITE_ONCE(p->holding, false);
	signal = p->late_signal;
	p->late_signal = 0;
	spin_unlock(&cryo_participants_lock);
	if (signal)
		kill_pid(task_tgid(current), signal, 0);
	wake_up_all(&p->hold_wait);
}

/* The thread @tid, the caller's, goes on. */
static int let_one_go(struct cryo_participant *p, struct pid *tid)
{
	struct cryo_held *h;

	if (!tid)
		return -ESRCH;
	xa_lock(&p->held);
	h = xa_load(&p->held, pid_nr(tid));
	if (h && h->tid != tid)
		h = NULL;
	if (h) {
		WRITE_ONCE(h->go, true);
		/* It sleeps among all that are held: nobody else is woken for it. */
		wake_up_process(h->task);
	}
	xa_unlock(&p->held);
	return h ? 0 : -ESRCH;
}

/* CRYO_CLIENT_GO; @p is the caller's. */
long cryo_held_go(struct cryo_participant *p, void __user *arg)
{
	struct cryo_client_go args = {};
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
	err = let_one_go(p, tid);
	put_pid(tid);
	return err;
}
