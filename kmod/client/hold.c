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
#include <linux/lockdep.h>
#include <linux/overflow.h>
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

/* By one registration of the process. */
struct held_by {
	struct cryo_participant *p;	/* counted */
	bool go;			/* it has let the thread go, without the others */
};

struct cryo_held {
	struct callback_head work;
	struct task_struct *task;	/* the thread, which frees this before it ends */
	struct pid *tid;		/* counted */
	unsigned long limit;		/* jiffies */
	bool passing;			/* the next time, only queue again */
	bool settled;			/* the thread is as it was at the checkpoint */
	unsigned int nr;
	struct held_by by[];		/* all have to let it go */
};

/*
 * The registrations of @tgid that hold its threads: at most @room of them, counted, to @h. Returns
 * how many there are.
 */
static unsigned int find_holders(struct pid *tgid, struct cryo_held *h, unsigned int room)
{
	struct cryo_participant *p = NULL;
	unsigned int n = 0;

	spin_lock(&cryo_participants_lock);
	while ((p = cryo_participant_find(tgid, p))) {
		if (!p->holding)
			continue;
		if (n < room) {
			kref_get(&p->ref);
			h->by[h->nr++].p = p;
		}
		n++;
	}
	spin_unlock(&cryo_participants_lock);
	return n;
}

/* Of @h, or it is not to be. */
static void note_settled(struct cryo_held *h)
{
	unsigned int i;

	h->settled = true;
	for (i = 0; i < h->nr; i++)
		if (atomic_dec_and_test(&h->by[i].p->unsettled))
			wake_up_all(&h->by[i].p->settle_wait);
}

static void free_held(struct cryo_held *h)
{
	while (h->nr)
		cryo_participant_put(h->by[--h->nr].p);
	put_pid(h->tid);
	kfree(h);
}

/* The first @n: whoever lets it go has the lock, nobody has it any more then. */
static void leave_holders(struct cryo_held *h, unsigned int n)
{
	while (n--)
		xa_erase(&h->by[n].p->held, pid_nr(h->tid));
}

static int join_holders(struct cryo_held *h)
{
	unsigned int i;
	int err;

	for (i = 0; i < h->nr; i++)
		atomic_inc(&h->by[i].p->unsettled);
	for (i = 0; i < h->nr; i++) {
		err = xa_insert(&h->by[i].p->held, pid_nr(h->tid), h, GFP_KERNEL_ACCOUNT);
		if (err) {
			leave_holders(h, i);
			note_settled(h);
			return err;
		}
	}
	return 0;
}

struct cryo_held *cryo_held_alloc(void)
{
	unsigned int n = find_holders(task_tgid(current), NULL, 0);
	struct cryo_held *h;
	int err;

	if (!n)
		return ERR_PTR(-EINVAL);
	h = kzalloc(struct_size(h, by, n), GFP_KERNEL_ACCOUNT);
	if (!h)
		return ERR_PTR(-ENOMEM);
	h->task = current;
	h->tid = get_pid(task_pid(current));
	find_holders(task_tgid(current), h, n);
	err = join_holders(h);
	if (err) {
		free_held(h);
		return ERR_PTR(err);
	}
	return h;
}

void cryo_held_free(struct cryo_held *h)
{
	if (!h)
		return;
	leave_holders(h, h->nr);
	if (!h->settled)
		note_settled(h);
	free_held(h);
}

static bool is_held_by(const struct held_by *by)
{
	return !READ_ONCE(by->go) && READ_ONCE(by->p->holding) && !READ_ONCE(by->p->closed);
}

static bool may_go(struct cryo_held *h)
{
	unsigned int i;

	if (time_after_eq(jiffies, h->limit))
		return true;
	for (i = 0; i < h->nr; i++)
		if (is_held_by(&h->by[i]))
			return false;
	return true;
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
	bool pending;
	long left;

	for (;;) {
		pending = signal_pending(current);
		set_current_state((pending ? TASK_KILLABLE : TASK_INTERRUPTIBLE) | TASK_FREEZABLE);
		if (may_go(h) || must_go() || task_work_pending(current))
			break;
		left = max_t(long, h->limit - jiffies, 1);
		schedule_timeout(pending ? min_t(long, left, HOLD_POLL_JIFFIES) : left);
	}
	__set_current_state(TASK_RUNNING);
}

/*
 * Works run in batches, the last one that was queued first.  The one that came meanwhile is in
 * the next batch, behind ours: that round we only pass on.
 */
static bool stays_held(struct cryo_held *h)
{
	h->passing = !h->passing;
	if (h->passing) {
		wait_for_helper(h);
		if (may_go(h) || must_go())
			return false;
	}
	return !task_work_add(current, &h->work, TWA_RESUME);
}

static void hold_thread(struct callback_head *work)
{
	struct cryo_held *h = container_of(work, struct cryo_held, work);

	cryo_point("holding");
	if (!(current->flags & PF_EXITING) && stays_held(h))
		return;
	cryo_point("held-end");
	cryo_held_free(h);
	cryo_look_at_signals();
	cryo_unload_put();
}

void cryo_held_start(struct cryo_held *h)
{
	h->limit = jiffies + msecs_to_jiffies(CRYO_CLIENT_HOLD_MS);
	note_settled(h);
	init_task_work(&h->work, hold_thread);
	cryo_unload_get();
	hold_thread(&h->work);
}

/* Have all threads that @p holds, the caller's, got what they had, masks of signals and all? */
bool cryo_held_settled(struct cryo_participant *p)
{
	return !atomic_read(&p->unsettled);
}

/* Which program @tgid executes, by its self_exec_id; 0: it has ended. */
static u64 program_number(struct pid *tgid)
{
	struct task_struct *task;
	u64 program = 0;

	rcu_read_lock();
	task = pid_task(tgid, PIDTYPE_TGID);
	if (task)
		program = READ_ONCE(task->self_exec_id);
	rcu_read_unlock();
	return program;
}

bool cryo_held_signal(struct pid *tgid, int signal)
{
	struct cryo_late_signal late = { signal, NULL, program_number(tgid) };
	struct cryo_late_signal before = {};
	struct cryo_participant *p = NULL;

	spin_lock(&cryo_participants_lock);
	while ((p = cryo_participant_find(tgid, p)))
		if (p->holding)
			break;
	if (p) {
		before = p->late;
		late.sender = get_current_cred();
		p->late = late;
	}
	spin_unlock(&cryo_participants_lock);
	put_cred(before.sender);
	return p;
}

/*
 * The signal that comes when @p holds nobody any more, by nobody else either, for
 * cryo_late_signal_send(). Under the lock.
 */
struct cryo_late_signal cryo_held_late_signal(struct cryo_participant *p)
{
	struct cryo_participant *other = NULL;
	struct cryo_late_signal late = p->late;

	lockdep_assert_held(&cryo_participants_lock);
	p->late = (struct cryo_late_signal){};
	if (!late.number)
		return late;
	while ((other = cryo_participant_find(p->owner, other)))
		if (other != p && other->holding)
			break;
	if (!other)
		return late;
	put_cred(other->late.sender);
	other->late = late;
	return (struct cryo_late_signal){};
}

/*
 * Whoever lets the threads go, a worker of the kernel maybe that closes the last descriptor, sends
 * it for who committed the restart, and may do no more than he. Takes the reference of @late.
 */
void cryo_late_signal_send(struct pid *tgid, struct cryo_late_signal late)
{
	/* To a process that he may not signal any more there is none, nor to another program. */
	if (late.number && program_number(tgid) == late.program)
		cryo_kill_as(late.sender, tgid, late.number);
	put_cred(late.sender);
}

/* Those that @p has held look whether they may go. */
void cryo_held_wake(struct cryo_participant *p)
{
	struct cryo_held *h;
	unsigned long tid;

	xa_lock(&p->held);
	xa_for_each(&p->held, tid, h)
		wake_up_process(h->task);
	xa_unlock(&p->held);
}

/* All threads that @p, the caller's, holds go on. */
void cryo_held_end(struct cryo_participant *p)
{
	struct cryo_late_signal late;

	spin_lock(&cryo_participants_lock);
	WRITE_ONCE(p->holding, false);
	late = cryo_held_late_signal(p);
	spin_unlock(&cryo_participants_lock);
	cryo_late_signal_send(task_tgid(current), late);
	cryo_held_wake(p);
}

static void release_by_rule(struct cryo_held *h, const struct cryo_participant *p)
{
	unsigned int i;

	for (i = 0; i < h->nr; i++)
		if (h->by[i].p == p)
			WRITE_ONCE(h->by[i].go, true);
	wake_up_process(h->task);
}

/* The thread @tid, the caller's, goes on, as far as @p is concerned. */
static int release_one(struct cryo_participant *p, struct pid *tid)
{
	struct cryo_held *h;

	if (!tid)
		return -ESRCH;
	xa_lock(&p->held);
	h = xa_load(&p->held, pid_nr(tid));
	if (h && h->tid != tid)
		h = NULL;
	if (h)
		release_by_rule(h, p);
	xa_unlock(&p->held);
	return h ? 0 : -ESRCH;
}

/* CRYO_CLIENT_GO; @p is the caller's. */
long cryo_held_release(struct cryo_participant *p, void __user *arg)
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
	err = release_one(p, tid);
	put_pid(tid);
	return err;
}
