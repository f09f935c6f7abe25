// SPDX-License-Identifier: GPL-2.0-only
/*
 * freeze.c - bring all threads of the processes in scope to rest, and let them go
 *
 * Each thread gets a task work; it interrupts system calls as a signal does,
 * and runs when the thread is about to return to user mode.  There the thread
 * waits, killable.  Nothing of this can be seen by the process or its parent: no
 * signal is sent, no state reported, and a call that would have returned EINTR
 * for want of a better answer is made one that is restarted.
 *
 * Rules for threads that do not come by themselves:
 *  - stopped by job control: they stay where they are, which is at rest; their work stays queued,
 *    so that a SIGCONT finds them parked, and makes what has been seen of them worthless;
 *  - stopped by a tracer: they may stand before a system call or in the middle of one, which they
 *    go on with first when the tracer lets them go. They are not at rest: refused by name after a
 *    moment, or, with CRYO_CKPT_PTRACED_ALLOW, waited for;
 *  - exiting: left out, they will be gone;
 *  - uninterruptible (state D), waiting in vfork(): waited for until the freeze's
 *    own time limit, then named.  A vfork() child is not asked before it has memory
 *    of its own: its parent does not come to rest earlier;
 *  - who waits uninterruptibly for others in scope (a vfork() child that waits, too; a permission
 *    event of fanotify): those that answer by descriptors known for it are asked last; else all are
 *    let go after a while, and asked again;
 *  - with requests of io_uring under way: waited for during a second, then parked all the same, and
 *    refused by name; in the same way, before any is asked, it is waited for what unsettled.c
 *    knows, and if they have begun with such a thing until they are parked, they are let go and
 *    asked again;
 *  - io_uring workers, those of vhost and other kernel helpers: never return to user mode, left
 *    out;
 *  - threads of the kernel that submit for a ring (IORING_SETUP_SQPOLL): they do not either, but
 *    run works. They are asked last, when nothing is submitted to them, and are let go again
 *    for as long as what they have submitted is under way;
 *  - in the middle of a call in which the kernel runs works, or of their own end: they go on, and
 *    are asked again. What they wait for there may be somebody in scope who has come: after a while
 *    without anybody new, all are let go for that, and asked again;
 *  - those that have changed their identity since they were asked, by exec() or setuid(): they see
 *    that themselves before they wait, and go on; they are asked again if the requester may still
 *    trace them, or the request fails;
 *  - the requester itself, in a checkpoint of its own process: is where it is, in
 *    CRYO_CKPT_RUN, and is captured as if that had returned.
 */
#include <linux/capability.h>
#include <linux/jiffies.h>
#include <linux/sched/jobctl.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include <cryo/ioctl.h>

#include "access/access.h"
#include "capture/uprobes.h"
#include "compat/sched.h"
#include "cryo_arch.h"
#include "freeze/freeze.h"
#include "freeze/park.h"
#include "lib/point.h"
#include "lib/trace.h"
#include "lib/wait.h"
#include "lib/walk_tasks.h"
#include "request/request.h"
#include "request/scope.h"
#include "save/files/uring.h"
#include "syscalls/syscalls.h"

#define URING_WAIT_MS	1000	/* for requests of io_uring to end */
#define TRACED_WAIT_MS	100U	/* for a tracer to let go whom it has stopped */
/* until a thread in uninterruptible sleep is taken to wait for parked ones */
#define STUCK_MS	200U
#define SETTLE_WAIT_MS	500U	/* for what is about to end by itself, see unsettled.c */

static int say_not_traceable(struct cryo_proc *proc, struct task_struct *task)
{
	/* The process is known to be the requester's; what it has become need not be. */
	cryo_log(&proc->req->log, "pid %d (%s): you may not trace thread %d of it", proc->pid,
		 proc->comm, task_pid_vnr(task));
	return -EPERM;
}

/* One that has exited meanwhile, for which Yama denies tracing, is not missed. */
static int refuse_thread(struct cryo_proc *proc, struct task_struct *task)
{
	return pid_alive(task) ? say_not_traceable(proc, task) : 0;
}

static int add_thread(struct cryo_proc *proc, struct task_struct *task, bool poller)
{
	struct cryo_parked *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	struct cryo_request *req = proc->req;

	if (!p)
		return -ENOMEM;
	/* First, so that the answer is not about a later identity. */
	cryo_identity_note(&p->asked, task);
	if (!cryo_may_trace(task)) {
		cryo_identity_put(&p->asked);
		kfree(p);
		return refuse_thread(proc, task);
	}
	kref_init(&p->ref);
	get_task_struct(task);
	p->task = task;
	p->proc = proc;
	cryo_request_get(req);
	p->req = req;
	p->state = CRYO_PARK_GONE;
	p->poller = poller;
	p->named = cryo_proc_is_named(proc);
	INIT_LIST_HEAD(&p->sibling);
	hash_add(req->index->by_task, &p->hash, (unsigned long)task);
	list_add_tail(&p->node, poller ? &req->pollers : &req->parked);
	if (poller)
		return 0;
	list_add_tail(&p->sibling, &proc->threads);
	req->threads++;
	return 0;
}

struct thread_search {
	struct cryo_proc *proc;
	bool pollers;
};

static bool thread_wanted(void *arg, struct task_struct *task)
{
	struct cryo_proc *proc = ((struct thread_search *)arg)->proc;
	bool pollers = ((struct thread_search *)arg)->pollers;

	if (proc->answers && !proc->req->all_asked)
		return false;
	if (cryo_find_parked(proc->req, task))
		return false;
	if (task->flags & (PF_EXITING | PF_KTHREAD) || task->exit_state)
		return false;
	if (pollers || task->flags & CRYO_PF_WORKER)
		return pollers && cryo_is_poller(task);
	return !cryo_is_vfork_child(task, cryo_proc_is_named(proc));
}

/*
 * Those of @proc that have not been asked. Some, if others come and go as fast as they are found.
 */
static int add_threads(struct cryo_proc *proc, bool pollers, unsigned int *spare)
{
	struct cryo_thread_walk walk = { .member = proc->leader };
	struct thread_search search = { .proc = proc, .pollers = pollers };
	struct task_struct *found[CRYO_WALK_FOUND];
	unsigned int n, i, total = 0;
	unsigned int usual = 2 * get_nr_threads(proc->leader);
	int err = 0;

	do {
		/* A work would cut a core dump to a pipe short. */
		if (READ_ONCE(proc->leader->signal->core_state))
			break;
		n = cryo_walk_threads(&walk, thread_wanted, &search, found,
				      ARRAY_SIZE(found));
		for (i = 0; i < n; i++) {
			if (!err)
				err = add_thread(proc, found[i], pollers);
			put_task_struct(found[i]);
		}
		total += n;
		cond_resched();
		err = err ?: cryo_request_interrupted(proc->req);
	} while (walk.more && !err && total < usual + *spare);
	cryo_walk_threads_end(&walk);
	*spare -= total > usual ? min(total - usual, *spare) : 0;
	return err ?: total;
}

static int add_all(struct cryo_request *req, bool pollers)
{
	unsigned int spare = CRYO_MAX_GONE;
	struct cryo_proc *proc;
	int total = 0;
	int n;

	cryo_for_each_proc(proc, req) {
		if (proc->omitted)
			continue;
		n = add_threads(proc, pollers, &spare);
		if (n < 0)
			return n;
		total += n;
	}
	return total;
}

/* Ask all threads that exist now. Returns how many were new, or a negative errno. */
static int request_park_all(struct cryo_request *req)
{
	struct cryo_parked *p = list_last_entry(&req->parked, struct cryo_parked, node);
	int total = add_all(req, false);

	if (total <= 0)
		return total;
	cryo_point("noted");
	/* While they still sleep: interrupting them takes their timers away. */
	cryo_timed_waits_find(req, p);
	list_for_each_entry_continue(p, &req->parked, node)
		cryo_park_request(p);
	return total;
}

/*
 * While some have not come: those that went on because they have changed are asked about again, and
 * of those that have come one of each process, which may not be dumpable any more.
 */
static int check_arrived(struct cryo_request *req)
{
	struct cryo_parked *t;
	struct cryo_proc *proc;
	int err;

	list_for_each_entry(t, &req->parked, node) {
		if (READ_ONCE(t->changed) && !cryo_may_trace(t->task)) {
			err = refuse_thread(t->proc, t->task);
			if (err)
				return err;
		}
		cond_resched();
	}
	cryo_for_each_proc(proc, req) {
		t = cryo_next_thread(proc, NULL);
		if (t && READ_ONCE(t->state) != CRYO_PARK_ASKED && !cryo_may_trace(t->task)) {
			err = refuse_thread(proc, t->task);
			if (err)
				return err;
		}
		cond_resched();
	}
	return 0;
}

/* Threads stopped by job control do not come: they count as arrived while they are off the CPU. */
static void count_stopped_as_parked(struct cryo_request *req, struct list_head *list)
{
	struct cryo_parked *p;

	list_for_each_entry(p, list, node) {
		if (READ_ONCE(p->state) != CRYO_PARK_ASKED)
			continue;
		if (!task_is_stopped(p->task) || cryo_task_on_cpu(p->task))
			continue;
		if (!p->poller) {
			cryo_arch_stay_saved(p->task);
			/* Either we see that it comes to a CPU, or it sees that. */
			smp_mb();
			if (cryo_task_on_cpu(p->task))
				continue;
		}
		spin_lock_irq(&req->park_lock);
		if (p->state == CRYO_PARK_ASKED)
			cryo_set_park_state(p, CRYO_PARK_STOPPED);
		spin_unlock_irq(&req->park_lock);
		cond_resched();
	}
}

static unsigned int count_pending(struct cryo_request *req)
{
	/* Pairs with cryo_set_park_state(). */
	return smp_load_acquire(&req->pending);
}

/*
 * Wait until no thread is pending. Returns 0, or why not; -EAGAIN: they may have to wait for those
 * that have come.
 */
static int wait_pending(struct cryo_request *req, unsigned long limit)
{
	unsigned long traced_limit = jiffies + msecs_to_jiffies(TRACED_WAIT_MS);
	unsigned int left = 0;
	int err;

	for (;;) {
		count_stopped_as_parked(req, &req->parked);
		count_stopped_as_parked(req, &req->pollers);
		if (count_pending(req) != left)
			req->progress = jiffies;
		left = count_pending(req);
		if (!left)
			return 0;
		err = cryo_request_interrupted(req);
		if (!err && time_after(jiffies, traced_limit))
			err = cryo_refuse_traced(req);
		if (err == -ETIMEDOUT)
			cryo_freeze_name_pending(req);
		err = err ?: check_arrived(req);
		if (err)
			return err;
		if (time_after(jiffies, limit)) {
			cryo_freeze_name_pending(req);
			return -ETIMEDOUT;
		}
		if (time_after(jiffies, req->progress + req->patience) && cryo_freeze_stuck(req))
			return -EAGAIN;
		if (cryo_wait_event_timeout(req->park_wait, !count_pending(req) || req->timed_out ||
					    req->cancelled, CRYO_FREEZE_POLL_JIFFIES) < 0)
			return -EINTR;
	}
}

static void release_parked(struct cryo_request *req, struct list_head *list)
{
	struct cryo_parked *p;

	list_for_each_entry(p, list, node)
		WRITE_ONCE(p->let_go, true);
	wake_up_all(&req->thaw_wait);
}

static void forget_one(struct cryo_parked *p)
{
	cryo_park_cancel(p);
	hash_del(&p->hash);
	list_del(&p->node);
	list_del(&p->sibling);
	cryo_parked_put(p);
}

static void forget_parked(struct list_head *list)
{
	struct cryo_parked *p, *next;

	list_for_each_entry_safe(p, next, list, node) {
		forget_one(p);
		cond_resched();
	}
}

static bool resumed(const struct cryo_parked *p)
{
	/* Pairs with cryo_set_park_state(): why it went on is said before. */
	return smp_load_acquire(&p->state) == CRYO_PARK_GONE && READ_ONCE(p->changed);
}

/*
 * Those that went on because they have changed are found and asked again. Returns how many there
 * are, beside those @within a call.
 */
static int forget_changed(struct cryo_request *req, unsigned int *within)
{
	struct cryo_parked *p, *next;
	int n = 0;

	*within = 0;
	list_for_each_entry_safe(p, next, &req->parked, node) {
		if (!resumed(p))
			continue;
		if (READ_ONCE(p->within))
			++*within;
		else
			n++;
		forget_one(p);
		req->threads--;
		cond_resched();
	}
	return n;
}

/*
 * @at_stop: is one of them at a stop? Its tracer lets it go at once, maybe, and it makes its call
 * again.
 */
static bool any_within(struct cryo_request *req, bool *at_stop)
{
	struct cryo_parked *p;
	bool any = false;

	*at_stop = false;
	list_for_each_entry(p, &req->parked, node) {
		if (resumed(p) && READ_ONCE(p->within)) {
			any = true;
			*at_stop |= p->at_stop;
		}
		cond_resched();
	}
	return any;
}

/*
 * A call takes what it takes. Returns why it is not waited for any more; then those that are in one
 * are known, and named.
 */
static int wait_for_calls(struct cryo_request *req, unsigned long limit)
{
	bool at_stop;
	int err;

	if (!any_within(req, &at_stop))
		return 0;
	if (!at_stop && cryo_sleep(CRYO_FREEZE_POLL_JIFFIES) && fatal_signal_pending(current))
		return -EINTR;
	err = cryo_request_interrupted(req);
	if (!err && time_after(jiffies, limit))
		err = -ETIMEDOUT;
	if (err == -ETIMEDOUT)
		cryo_freeze_name_within(req);
	return err;
}

/*
 * Those in the middle of a call are asked again and again, which is nothing @new. Returns whether
 * that has been all for so long that they may have to wait for those that have come.
 */
static bool only_calls(struct cryo_request *req, unsigned int new, unsigned int within)
{
	if (!within || new > req->within)
		req->within_since = jiffies;
	req->within = within;
	return time_after(jiffies, req->within_since + req->patience);
}

/* One look at the scope. Returns how much was found that is new or not at rest, or an error. */
static int freeze_once(struct cryo_request *req, unsigned long limit)
{
	int procs = cryo_scope_find(req);
	int threads, restless, changed, err;
	unsigned int within;

	if (procs < 0)
		return procs;
	cryo_point("found");
	threads = request_park_all(req);
	if (threads < 0)
		return threads;
	cryo_point("asked");
	/*
	 * Those that were in the middle of a call have been asked a moment ago: they are to say
	 * whether they are still there.
	 */
	err = wait_pending(req, req->within ? limit + msecs_to_jiffies(STUCK_MS) : limit);
	err = err ?: wait_for_calls(req, limit);
	if (err)
		return err;
	changed = forget_changed(req, &within);
	if (only_calls(req, procs + threads + changed, within))
		return -EAGAIN;
	changed += within;
	restless = cryo_scope_settle(req, false);
	if (procs + threads + changed || restless != req->restless)
		req->progress = jiffies;
	req->restless = restless;
	if (!restless)
		return procs + threads + changed;
	if (time_after(jiffies, limit)) {
		cryo_scope_settle(req, true);
		return -ETIMEDOUT;
	}
	if (time_after(jiffies, req->progress + req->patience))
		return -EAGAIN;
	if (cryo_sleep(CRYO_FREEZE_POLL_JIFFIES) && fatal_signal_pending(current))
		return -EINTR;
	err = cryo_request_interrupted(req);
	if (err == -ETIMEDOUT)
		cryo_scope_settle(req, true);
	return err ?: restless;
}

static bool any_poller_busy(struct cryo_request *req)
{
	struct cryo_parked *p;

	list_for_each_entry(p, &req->pollers, node)
		if (READ_ONCE(p->state) != CRYO_PARK_GONE && cryo_uring_busy(p->task))
			return true;
	return false;
}

/* All others are at rest. Only the thread itself can finish what it has submitted. */
static int park_pollers(struct cryo_request *req, unsigned long limit)
{
	struct cryo_parked *p;
	int err;

	for (;;) {
		err = add_all(req, true);
		if (err <= 0)
			return err;
		list_for_each_entry(p, &req->pollers, node)
			cryo_park_request(p);
		err = wait_pending(req, limit) ?: cryo_request_interrupted(req);
		if (err || !any_poller_busy(req) || time_after(jiffies, req->uring_limit))
			return err;
		release_parked(req, &req->pollers);
		forget_parked(&req->pollers);
		if (cryo_sleep(CRYO_FREEZE_POLL_JIFFIES) && fatal_signal_pending(current))
			return -EINTR;
	}
}

static unsigned int freeze_ms(struct cryo_request *req)
{
	return req->args.freeze_ms ?: CRYO_FREEZE_DEFAULT_MS;
}

/* Without CAP_SYS_ADMIN, a requester cannot keep processes waiting for longer than that. */
static void bound_freeze(struct cryo_request *req)
{
	unsigned int most = cryo_few(freeze_ms, CRYO_FREEZE_MAX_MS);

	if (freeze_ms(req) <= most || capable(CAP_SYS_ADMIN))
		return;
	cryo_log(&req->log,
		 "pid %d (%s): is given at most %u s to freeze: more requires CAP_SYS_ADMIN",
		 req->pid, req->comm, most / 1000);
	req->args.freeze_ms = most;
}

static int log_cannot_freeze(struct cryo_request *req)
{
	cryo_log(&req->log,
		 "pid %d (%s): cannot be frozen: it keeps creating processes or threads, or executing programs",
		 req->pid, req->comm);
	return -ETIMEDOUT;
}

/* They may create others until they park, so look again until nothing new is found. */
static int freeze_all(struct cryo_request *req, unsigned long limit)
{
	unsigned int uring_ms = min_t(unsigned int, freeze_ms(req) / 2, URING_WAIT_MS), threads = 0;
	unsigned long answered;
	int n;

	req->all_asked = !cryo_find_answerers(req);
	req->freeze_begin = ktime_get();
	req->progress = jiffies;
	req->restless = 0;
	req->within = 0;
	answered = jiffies + min(req->patience, limit - jiffies) / 2;
	req->uring_limit = jiffies + msecs_to_jiffies(uring_ms);
	for (;;) {
		n = freeze_once(req, limit);
		if (n < 0 || (!n && req->all_asked))
			break;
		/* The one that answers may itself create processes all the time. */
		req->all_asked |= !n || time_after(jiffies, answered);
		n = cryo_request_interrupted(req);
		if (n)
			return n;
		threads = threads ?: req->threads;
		/* A thread in the middle of a call is named by the next pass. */
		if ((time_after(jiffies, limit) && !req->within) ||
		    cryo_freeze_overrun(req, threads))
			return log_cannot_freeze(req);
	}
	return n ?: park_pollers(req, limit);
}

/* The last time it is waited for them until the end, which names them. */
static void bound_patience(struct cryo_request *req, unsigned long limit, unsigned int ms)
{
	unsigned long patience = msecs_to_jiffies(ms), end = jiffies + 2 * patience;

	if (req->args.timeout_ms && time_before(req->deadline, limit))
		limit = req->deadline;
	req->patience = time_after(end, limit) ? MAX_JIFFY_OFFSET : patience;
}

/* Those that have been let go, for @ms. Returns why the request should end now. */
static int sleep_while_thawed(struct cryo_request *req, unsigned int ms)
{
	long timeout = msecs_to_jiffies(ms);

	if (cryo_wait_event_timeout(req->park_wait, cryo_request_interrupted(req), timeout) < 0)
		return -EINTR;
	return cryo_request_interrupted(req);
}

/*
 * Not in the middle of what cannot be saved but will be over soon. That may begin again just before
 * all are at rest: then they are let go once more. Who was in the middle of it for all the time
 * that we can wait will not end it. So it is with those that wait for somebody who has parked: they
 * have to begin anew, each time with more patience.
 */
static int freeze_settled(struct cryo_request *req, unsigned long limit, bool settle)
{
	unsigned int wait_ms = min(freeze_ms(req) / 2, SETTLE_WAIT_MS);
	/* A snapshot that has to be stopped is not made to run on for others. */
	unsigned int patience_ms = settle ? STUCK_MS : max(STUCK_MS, freeze_ms(req) / 4);
	unsigned int threads = req->threads;
	bool settled;
	int err;

	cryo_scope_limit_gone(req);
	err = settle ? cryo_scope_find(req) : 0;
	if (err < 0)
		return err;
	cryo_scope_limit_gone(req);
	for (;;) {
		settled = settle &&
			  cryo_wait_until_settled(req, jiffies + msecs_to_jiffies(wait_ms));
		bound_patience(req, limit, patience_ms);
		err = freeze_all(req, limit);
		if (err != -EAGAIN && (err || !settled || time_after(jiffies, limit) ||
				       !(cryo_freeze_unsettled(req) || cryo_in_uprobe(req))))
			return err;
		cryo_thaw(req);
		req->threads = threads;
		if (err) {
			err = sleep_while_thawed(req, patience_ms / 8);
			patience_ms *= 2;
		}
		if (err)
			return err;
	}
}

static int freeze_scope(struct cryo_request *req, bool settle)
{
	unsigned long limit = jiffies + cryo_jiffies(freeze_ms(req));
	int err;

	/* Of a group or session, it is one of many: waited for as they are. */
	if (req->target->signal->core_state && !req->scope_pid) {
		cryo_log(&req->log, "pid %d (%s): has ended, and is writing its core file",
			 req->pid, req->comm);
		return -ESRCH;
	}
	err = freeze_settled(req, limit, settle);
	err = err ?: cryo_wait_off_cpu(req);
	trace_cryo_freeze(req->target, req->nr_procs, req->threads, err);
	if (err)
		return err;
	if (!req->freeze_ns)
		req->freeze_ns = ktime_to_ns(ktime_sub(ktime_get(), req->freeze_begin));
	return 0;
}

int cryo_freeze(struct cryo_request *req)
{
	bound_freeze(req);
	return freeze_scope(req, true);
}

int cryo_freeze_again(struct cryo_request *req)
{
	unsigned int threads = req->threads;
	int err = freeze_scope(req, false);

	req->threads = threads;
	if (err)
		cryo_thaw(req);
	return err;
}

void cryo_thaw(struct cryo_request *req)
{
	if (list_empty(&req->parked) && list_empty(&req->pollers))
		return;
	release_parked(req, &req->pollers);
	release_parked(req, &req->parked);
	req->pause_ns += ktime_to_ns(ktime_sub(ktime_get(), req->freeze_begin));
	trace_cryo_thaw(req->target, req->pause_ns);
	forget_parked(&req->pollers);
	forget_parked(&req->parked);
}
