// SPDX-License-Identifier: GPL-2.0-only
/*
 * park.c - what one thread does that is brought to rest: its task work, how it is queued, and how
 * it is given up
 *
 * All but cryo_park_request() and cryo_park_cancel() runs in the thread itself.
 */
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/sched/jobctl.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seccomp.h>
#include <linux/slab.h>
#include <linux/task_work.h>

#include "access/access.h"
#include "compat/ksym.h"
#include "cryo_arch.h"
#include "freeze/freeze.h"
#include "freeze/park.h"
#include "lib/per_user.h"
#include "lib/point.h"
#include "lib/sighand.h"
#include "lib/trace.h"
#include "lib/unload.h"
#include "lib/wait.h"
#include "request/request.h"
#include "save/files/uring.h"
#include "syscalls/syscalls.h"

#define LEFT_WORKS_MAX	1024	/* of a user */
#define WORK_LAPS	16	/* at most so often other works of a thread go first */

static void parked_free(struct kref *ref)
{
	struct cryo_parked *p = container_of(ref, struct cryo_parked, ref);

	if (p->left_of)
		atomic_dec(&p->left_of->left_works);
	cryo_user_put(p->left_of);
	put_task_struct(p->task);
	cryo_identity_put(&p->asked);
	cryo_request_put(p->req);
	kfree(p);
}

void cryo_parked_put(struct cryo_parked *p)
{
	kref_put(&p->ref, parked_free);
}

void cryo_set_park_state(struct cryo_parked *p, enum cryo_park_state state)
{
	int more = (state == CRYO_PARK_ASKED) - (p->state == CRYO_PARK_ASKED);

	lockdep_assert_held(&p->req->park_lock);
	/* Pairs with cryo_wait_off_cpu(): who sees it parked sees that it is on a CPU. */
	smp_store_release(&p->state, state);
	if (more) {
		/* Pairs with count_pending(): who sees that none is pending sees the states. */
		smp_store_release(&p->req->pending, p->req->pending + more);
	}
}

void cryo_settle_parked(struct cryo_parked *p, enum cryo_park_state state)
{
	spin_lock_irq(&p->req->park_lock);
	cryo_set_park_state(p, state);
	spin_unlock_irq(&p->req->park_lock);
	wake_up(&p->req->park_wait);
}

/* The capture has an end as soon as it notices. Returns whether this is the first to say so. */
static bool note_lost(struct cryo_parked *p, bool continued)
{
	bool first;

	lockdep_assert_held(&p->req->park_lock);
	/* One that has been released may arrive late, and does not count any more. */
	first = p->req->looking && !p->req->lost && !READ_ONCE(p->let_go);
	if (first) {
		p->req->lost_continued = continued;
		/* A reader that sees one lost sees the reason, too. */
		smp_store_release(&p->req->lost, p->proc);
	}
	return first;
}

/*
 * What the capture knows of a thread is worthless from now on, and the thread goes: not before the
 * capture has taken its hands off it, or its stack and more of it would go meanwhile. Not killable,
 * as it has been killed; but the capture is told to give up, and is got out of what it may be
 * waiting for.
 */
static void park_exit_killed(struct cryo_parked *p)
{
	bool first;

	spin_lock_irq(&p->req->park_lock);
	cryo_set_park_state(p, CRYO_PARK_GONE);
	first = note_lost(p, false);
	spin_unlock_irq(&p->req->park_lock);
	wake_up(&p->req->park_wait);
	if (first)
		cryo_request_poke(p->req);
	wait_event_state(p->req->look_wait, !READ_ONCE(p->req->looking),
			 (TASK_UNINTERRUPTIBLE | TASK_FREEZABLE));
}

static void park_thread(struct callback_head *work);

/* After all works that the thread has now. */
static bool park_later(struct cryo_parked *p)
{
	init_task_work(&p->work, park_thread);
	return !task_work_add(current, &p->work, TWA_NONE);
}

/*
 * The works of a thread run newest first, and what close() leaves undone is one: a file that is
 * closed already, but still counts as the end of a pipe, or keeps a lock. It is released first, and
 * what that leaves in its turn. Not without end, if new works are queued all the
 * time.
 */
static bool wait_for_works(struct cryo_parked *p)
{
	if (p->laps >= WORK_LAPS || (p->laps && !task_work_pending(current)))
		return false;
	p->laps++;
	return park_later(p);
}

/*
 * Requests of io_uring that are under way may need this thread, by works of their own, to end: come
 * again after them.  Not for long: some never end by themselves.
 */
static bool wait_for_uring(struct cryo_parked *p)
{
	if (!cryo_uring_busy(current) || time_after(jiffies, p->req->uring_limit) ||
	    READ_ONCE(p->let_go) || fatal_signal_pending(current))
		return false;
	WRITE_ONCE(p->at_work, true);
	schedule_timeout_killable(CRYO_FREEZE_POLL_JIFFIES);
	WRITE_ONCE(p->at_work, false);
	return park_later(p);
}

/* Killable and freezable: neither the OOM killer nor a suspend waits for us. */
static void stay_parked(struct cryo_parked *p)
{
	bool first;

	spin_lock_irq(&p->req->park_lock);
	/*
	 * On the way here it may have begun with a signal's handler: registers and pending signals
	 * are not what they were.
	 */
	first = p->state == CRYO_PARK_STOPPED && note_lost(p, true);
	cryo_set_park_state(p, CRYO_PARK_PARKED);
	spin_unlock_irq(&p->req->park_lock);
	wake_up(&p->req->park_wait);
	if (first)
		cryo_request_poke(p->req);
	trace_cryo_park(current, p->req->target);
	if (wait_event_state(p->req->thaw_wait, READ_ONCE(p->let_go),
			     (TASK_KILLABLE | TASK_FREEZABLE)))
		park_exit_killed(p);
}

/*
 * It counted as arrived while it was stopped: what has been seen of it is worthless from here on.
 */
static void note_continued(struct cryo_parked *p)
{
	bool first;

	spin_lock_irq(&p->req->park_lock);
	first = p->state == CRYO_PARK_STOPPED && note_lost(p, true);
	spin_unlock_irq(&p->req->park_lock);
	if (first)
		cryo_request_poke(p->req);
}

/*
 * Its parent waits for it, uninterruptibly, and would not come to rest while it is parked. Who has
 * been named is asked all the same, to be refused by name.
 */
bool cryo_is_vfork_child(struct task_struct *task, bool named)
{
	return READ_ONCE(task->vfork_done) && !named;
}

/*
 * Has become one that the requester was not asked about, or turns out to be a vfork() child: the
 * kernel notes that after others can find it, and before it runs. As if it had not been asked: see
 * forget_changed(). Works that others have queued may change it between a stop and here: then it
 * may be looked at, and goes on when that is over.
 */
static void unpark_unwanted(struct cryo_parked *p)
{
	bool stopped, first;

	WRITE_ONCE(p->changed, true);
	spin_lock_irq(&p->req->park_lock);
	stopped = p->state == CRYO_PARK_STOPPED;
	first = stopped && note_lost(p, true);
	cryo_set_park_state(p, CRYO_PARK_GONE);
	spin_unlock_irq(&p->req->park_lock);
	wake_up(&p->req->park_wait);
	if (first)
		cryo_request_poke(p->req);
	if (stopped)
		wait_event_state(p->req->look_wait, !READ_ONCE(p->req->looking),
				 (TASK_UNINTERRUPTIBLE | TASK_FREEZABLE));
}

/*
 * What has told the thread of the work would end the call, or the wait of its tracer's stop, for
 * nothing; but where it has ended the call already. Whoever tells it of another work adds that
 * before.
 */
static void defer_park_in_syscall(struct cryo_parked *p)
{
	p->within = true;
	p->at_stop = READ_ONCE(current->ptrace) && cryo_arch_call_is_interrupted(current);
	cryo_arch_forget_syscall(p);
	cryo_arch_begin_park();
	clear_thread_flag(TIF_NOTIFY_SIGNAL);
	/* Pairs with task_work_add(), which adds the work, and then sets the flag. */
	smp_mb__after_atomic();
	if (task_work_pending(current) || cryo_arch_call_is_interrupted(current))
		set_thread_flag(TIF_NOTIFY_SIGNAL);
}

/*
 * Has its process begun to end? It stays, and is not at rest, until the last of its threads has
 * ended: see look_at_proc().
 */
static bool is_process_ending(void)
{
	return READ_ONCE(current->signal->flags) & SIGNAL_GROUP_EXIT;
}

/*
 * do_exit() runs works before it says that the thread is exiting: it waits for requests of io_uring
 * that it has cancelled. exit(2) is told by its number. Here are those that a signal kills alone,
 * as execve(2) of another thread does with all others, and those that seccomp kills, in whatever
 * call.
 */
static bool is_ending(void)
{
	return current->flags & PF_SIGNALED ||
	       seccomp_mode(&current->seccomp) > SECCOMP_MODE_FILTER;
}

/*
 * The task work: runs in the thread itself, on its way to user mode; but for a few places where the
 * kernel runs works in the middle of a call, which has no result yet. Whoever is there is asked
 * again.
 */
static void park_thread(struct callback_head *work)
{
	struct cryo_parked *p = container_of(work, struct cryo_parked, work);

	if (current->flags & PF_EXITING || is_process_ending()) {
		/* It may have to wait yet, for what does not end by a signal that there is none. */
		if (!p->poller && !(current->flags & PF_EXITING)) {
			cryo_arch_forget_syscall(p);
			cryo_arch_begin_park();
		}
		park_exit_killed(p);
		goto put;
	}
	cryo_point("park");
	note_continued(p);
	if (!p->poller && (current->in_execve || is_ending() || cryo_arch_within_call(p))) {
		defer_park_in_syscall(p);
		unpark_unwanted(p);
		goto put;
	}
	if (wait_for_works(p) || (!p->poller && wait_for_uring(p)))
		return;
	/* Before the requester may look at the registers; and even when it no longer wants to. */
	if (!p->poller) {
		p->traced = READ_ONCE(current->ptrace);
		cryo_arch_fixup_syscall(p);
		cryo_arch_begin_park();
		cryo_arch_stay_saved(current);
	}
	/* A thread of the kernel runs nothing of its process's. */
	cryo_point("parking");
	if (p->poller ||
	    (cryo_identity_is_same(&p->asked) && !cryo_is_vfork_child(current, p->named)))
		stay_parked(p);
	else
		unpark_unwanted(p);
	cryo_point("parked");
	if (!p->poller)
		cryo_arch_unfix_syscall(p);
put:
	cryo_parked_put(p);
	cryo_unload_put();
}

/*
 * A core dump to a pipe would be cut short by a work: who has begun with one is not asked.
 *
 * What an architecture sets to have all registers given back looks like a signal. Who begins to
 * wait before the work is there has nothing that it could be made again by: nobody of this machine
 * is to take the CPU in between.
 */
static int queue_parking(struct cryo_parked *p)
{
	struct sighand_struct *sighand = cryo_lock_sighand(p->task);
	unsigned long flags;
	int err = -ESRCH;

	if (!sighand)
		return err;
	local_irq_save(flags);
	if (!READ_ONCE(p->task->signal->core_state)) {
		if (!p->poller)
			cryo_arch_prepare_park(p->task);
		err = task_work_add(p->task, &p->work, TWA_SIGNAL);
	}
	local_irq_restore(flags);
	cryo_unlock_sighand(sighand);
	return err;
}

void cryo_park_request(struct cryo_parked *p)
{
	/* It is in the module already, and stays there until the end of the capture. */
	if (p->task == current) {
		p->self = true;
		cryo_settle_parked(p, CRYO_PARK_PARKED);
		return;
	}
	kref_get(&p->ref);
	cryo_unload_get();
	init_task_work(&p->work, park_thread);
	if (!p->poller)
		cryo_arch_note_syscall(p);
	cryo_settle_parked(p, CRYO_PARK_ASKED);
	if (queue_parking(p)) {
		cryo_settle_parked(p, CRYO_PARK_GONE);
		cryo_parked_put(p);
		cryo_unload_put();
	}
}

/*
 * Who stands where a tracer has stopped it is about to begin a call, or in the middle of one, and
 * would end it for a flag that is not needed any more. It cannot go on meanwhile, as that takes the
 * lock, too.
 */
static void unflag_traced(struct task_struct *task)
{
	lockdep_assert_held(&task->sighand->siglock);
	if (!task_is_traced(task) || task_work_pending(task) || cryo_arch_call_is_interrupted(task))
		return;
	clear_tsk_thread_flag(task, TIF_NOTIFY_SIGNAL);
	cryo_arch_forget_park(task);
	/* Other code that queues a work adds that first, and sets the flag then. */
	smp_mb__after_atomic();
	if (task_work_pending(task))
		set_tsk_thread_flag(task, TIF_NOTIFY_SIGNAL);
}

/* Returns whether the work will not run any more. @locked: whether siglock is held. */
static bool cancel_park_work(struct cryo_parked *p, bool locked)
{
	if (p->self || !cryo_task_work_cancel(p->task, &p->work))
		return false;
	if (!p->poller)
		cryo_arch_forget_syscall(p);
	if (locked)
		unflag_traced(p->task);
	return true;
}

/*
 * Who sleeps uninterruptibly may do so for as long as his user likes (a page from a FUSE server),
 * or is frozen, and is asked again and again: more works are not left with the threads of one user
 * than this. No other user's are taken back for that.
 */
static bool may_leave(struct cryo_parked *p, struct cryo_user *user)
{
	if (!user || !atomic_add_unless(&user->left_works, 1, LEFT_WORKS_MAX))
		return false;
	cryo_user_hold(user);
	p->left_of = user;
	return true;
}

/*
 * One that has been told to look at its works, and that runs or waits, may see that in the middle
 * of a call, which ends with EINTR then: it has to come here, so that the call is made one that is
 * restarted, and goes on at once. Who is in uninterruptible sleep may be there for long, and is
 * mostly past its call when it looks; so is who is stopped by job control. Who is in the freezer of
 * a control group of version 1 may be there for long, too, and goes on in the call that it waits
 * in, whatever that is.
 */
static bool must_park(struct cryo_parked *p, struct cryo_user *user)
{
	struct task_struct *task = p->task;
	unsigned int state = READ_ONCE(task->__state);

	if (p->poller || READ_ONCE(p->state) != CRYO_PARK_ASKED)
		return false;
	if (READ_ONCE(task->flags) & PF_EXITING || task_is_stopped_or_traced(task))
		return false;
	if (READ_ONCE(p->at_work) || !(state & (TASK_UNINTERRUPTIBLE | TASK_FROZEN)))
		return true;
	return (state & TASK_FROZEN || cryo_may_begin_to_wait(task)) && may_leave(p, user);
}

void cryo_park_cancel(struct cryo_parked *p)
{
	bool pending = !p->poller && READ_ONCE(p->state) == CRYO_PARK_ASKED, comes, taken;
	struct cryo_user *user = pending ? cryo_user_of(p->asked.cred) : NULL;
	struct sighand_struct *sighand;

	/*
	 * With it no tracer lets go between the question and what is done. Not of one that has been
	 * released.
	 */
	sighand = p->self || p->poller ? NULL : cryo_lock_sighand(p->task);
	comes = must_park(p, user);
	taken = !comes && cancel_park_work(p, sighand);
	if (sighand)
		cryo_unlock_sighand(sighand);
	cryo_user_put(user);
	/* It cannot settle itself any more, and a later freeze counts those not settled. */
	if (comes || taken)
		cryo_settle_parked(p, CRYO_PARK_GONE);
	if (taken) {
		cryo_parked_put(p);
		cryo_unload_put();
	}
}
