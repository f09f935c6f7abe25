// SPDX-License-Identifier: GPL-2.0-only
/*
 * request.c - a checkpoint request: references, state, why it ends early, whom it is for
 */
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/pid.h>
#include <linux/resume_user_mode.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include <cryo/ioctl.h>

#include "access/access.h"
#include "compat/ksym.h"
#include "lib/in_use.h"
#include "lib/log.h"
#include "lib/unload.h"
#include "request/connections.h"
#include "request/events.h"
#include "request/request.h"

void cryo_request_close_output(struct cryo_request *req)
{
	if (req->out)
		fput(req->out);
	req->out = NULL;
}

static void request_free(struct kref *ref)
{
	struct cryo_request *req = container_of(ref, struct cryo_request, ref);

	cryo_request_close_output(req);
	if (req->target)
		put_task_struct(req->target);
	put_pid(req->requester);
	put_pid(req->scope_pid);
	if (req->voter)
		put_cred(req->voter);
	kfree(req->dest);
	cryo_device_rules_free(req);
	cryo_connections_forget(req);
	cryo_log_free(&req->log);
	kfree(req);
	cryo_use_end(CRYO_USE_CHECKPOINT);
}

void cryo_request_get(struct cryo_request *req)
{
	kref_get(&req->ref);
}

void cryo_request_put(struct cryo_request *req)
{
	kref_put(&req->ref, request_free);
}

/* Why the request should end now: 0, or a negative errno. */
int cryo_request_interrupted(struct cryo_request *req)
{
	if (READ_ONCE(req->cancelled))
		return -ECANCELED;
	if (READ_ONCE(req->timed_out))
		return -ETIMEDOUT;
	if (fatal_signal_pending(current))
		return -EINTR;
	/*
	 * Who looks at a process gives up when somebody of it has been killed: see
	 * park_exit_killed().
	 */
	return READ_ONCE(req->lost) ? -ESRCH : 0;
}

void cryo_request_state(struct cryo_request *req, u32 state)
{
	WRITE_ONCE(req->state, state);
	cryo_event_state(req);
}

/* Runs in the worker, only to have made it return from an interruptible wait. */
static void interrupt_work(struct callback_head *work)
{
	struct cryo_request *req = container_of(work, struct cryo_request, interrupt);

	cryo_request_put(req);
	cryo_unload_put();
}

/* Get the worker out of a wait, for instance for the reader of a full pipe. Any context. */
static void interrupt_worker(struct cryo_request *req)
{
	unsigned long flags;

	spin_lock_irqsave(&req->park_lock, flags);
	if (req->worker && !req->interrupt_armed) {
		cryo_unload_get();
		cryo_request_get(req);
		init_task_work(&req->interrupt, interrupt_work);
		req->interrupt_armed = true;
		if (task_work_add(req->worker, &req->interrupt, TWA_SIGNAL)) {
			/* The worker is exiting: it is out of its wait. Not the last reference. */
			cryo_request_put(req);
			cryo_unload_put();
		}
	}
	spin_unlock_irqrestore(&req->park_lock, flags);
	wake_up(&req->park_wait);
}

/* Get the worker out of a wait for a moment. Any context. */
void cryo_request_poke(struct cryo_request *req)
{
	interrupt_worker(req);
}

/* In the worker: has it been interrupted for that alone?  Then it may go on. */
bool cryo_request_poked(struct cryo_request *req)
{
	if (!cryo_task_work_cancel(current, &req->interrupt))
		return false;
	spin_lock_irq(&req->park_lock);
	/* Before the next poke can come, which is not to be lost. */
	clear_notify_signal();
	req->interrupt_armed = false;
	spin_unlock_irq(&req->park_lock);
	cryo_request_put(req);
	cryo_unload_put();
	/* What others have queued has waited for that, too: it gets the next chance. */
	if (task_work_pending(current))
		set_notify_resume(current);
	/* Not signal_pending(): poked again meanwhile, it comes here again. */
	return !cryo_request_interrupted(req) && !task_sigpending(current);
}

/*
 * By another thread, while the first one is in CRYO_CKPT_RUN: as long as that takes, and freezable
 * as it is.
 */
int cryo_request_lock(struct cryo_request *req)
{
	return wait_event_state(req->done_wait, mutex_trylock(&req->lock),
				(TASK_KILLABLE | TASK_FREEZABLE)) ? -EINTR : 0;
}

void cryo_request_unlock(struct cryo_request *req)
{
	mutex_unlock(&req->lock);
	wake_up_all(&req->done_wait);
}

static void deadline_passed(struct timer_list *timer)
{
	struct cryo_request *req = container_of(timer, struct cryo_request, timer);

	/* A timer may come early when it was to come much later. */
	if (time_before(jiffies, req->deadline)) {
		mod_timer(timer, req->deadline);
		return;
	}
	WRITE_ONCE(req->timed_out, true);
	interrupt_worker(req);
}

struct cryo_request *cryo_request_alloc(void)
{
	struct cryo_request *req = kzalloc(sizeof(*req), GFP_KERNEL_ACCOUNT);

	/*
	 * Larger ones need free pages side by side, which there may not be: what is large comes
	 * with RUN, by kvmalloc().
	 */
	BUILD_BUG_ON(sizeof(*req) > 4096);
	if (!req)
		return NULL;
	cryo_use_begin(CRYO_USE_CHECKPOINT);
	kref_init(&req->ref);
	mutex_init(&req->lock);
	spin_lock_init(&req->park_lock);
	INIT_LIST_HEAD(&req->parked);
	INIT_LIST_HEAD(&req->pollers);
	INIT_LIST_HEAD(&req->devices);
	INIT_LIST_HEAD(&req->procs);
	INIT_LIST_HEAD(&req->participants);
	INIT_LIST_HEAD(&req->ending);
	INIT_LIST_HEAD(&req->forwards);
	INIT_LIST_HEAD(&req->forwarded);
	req->requester = get_pid(task_tgid(current));
	init_waitqueue_head(&req->done_wait);
	init_waitqueue_head(&req->park_wait);
	init_waitqueue_head(&req->thaw_wait);
	init_waitqueue_head(&req->look_wait);
	init_waitqueue_head(&req->forward_wait);
	timer_setup(&req->timer, deadline_passed, 0);
	cryo_log_init(&req->log);
	return req;
}

/* With rcu_read_lock(): who leads the group or session @pid, if that is another than the caller. */
static struct task_struct *leader_of(struct pid *pid, enum pid_type type)
{
	struct task_struct *task = pid_task(pid, PIDTYPE_TGID);
	bool leads = task && (type == PIDTYPE_PGID ? task_pgrp(task) : task_session(task)) == pid;

	return leads && !task->exit_state && !same_thread_group(task, current) ? task : NULL;
}

#define MEMBERS	256	/* looked at, at most: the oldest of so many will do */

/*
 * A live process of the group or session @pid but @not, and not the caller's own if there is
 * another. The leader, or an old one, which comes late: the newest may be there for a moment only.
 */
static struct task_struct *member_of(struct pid *pid, enum pid_type type, struct task_struct *not)
{
	struct task_struct *task, *found;
	unsigned int n = 0;

	rcu_read_lock();
	found = leader_of(pid, type);
	if (found && found != not)
		goto get;
	found = NULL;
	do_each_pid_task(pid, type, task) {
		if (found && n++ > MEMBERS)
			break;
		if (task->exit_state || !thread_group_leader(task) || task == not)
			continue;
		if (!found || !same_thread_group(task, current))
			found = task;
	} while_each_pid_task(pid, type, task);
get:
	if (found)
		get_task_struct(found);
	rcu_read_unlock();
	return found;
}

/* The group or session that @nr (0: the caller's) and @scope mean, counted; NULL: there is none. */
static struct pid *find_group(pid_t nr, u32 scope)
{
	if (nr < 0)
		return NULL;
	if (nr)
		return find_get_pid(nr);
	return get_task_pid(current, scope == CRYO_SCOPE_PGRP ? PIDTYPE_PGID : PIDTYPE_SID);
}

/* PIDTYPE_TGID: a thread's id is no process. */
static struct task_struct *find_process(pid_t nr)
{
	struct pid *pid = nr < 0 ? NULL :
			  nr ? find_get_pid(nr) : get_task_pid(current, PIDTYPE_TGID);
	struct task_struct *task = get_pid_task(pid, PIDTYPE_TGID);

	put_pid(pid);
	return task;
}

static bool may_be_target(struct task_struct *task)
{
	return !(task->flags & PF_KTHREAD) && cryo_may_trace(task);
}

/* Why @task is no target: nobody may trace one that has gone. */
static int target_refusal(struct task_struct *task)
{
	return pid_alive(task) ? -EPERM : -ESRCH;
}

int cryo_request_ask_target(struct cryo_request *req)
{
	return may_be_target(req->target) ? 0 : target_refusal(req->target);
}

/*
 * One of @pid, or if that may not be traced, another one: the search says of whom it cannot be
 * made.
 */
static struct task_struct *find_one_of(struct pid *pid, enum pid_type type)
{
	struct task_struct *task = member_of(pid, type, NULL), *other;
	int err;

	if (!task)
		return ERR_PTR(-ESRCH);
	if (may_be_target(task))
		return task;
	other = member_of(pid, type, task);
	err = target_refusal(task);
	put_task_struct(task);
	if (!other)
		return ERR_PTR(err);
	if (!same_thread_group(other, current) && may_be_target(other))
		return other;
	err = err == -ESRCH ? target_refusal(other) : err;
	put_task_struct(other);
	return ERR_PTR(err);
}

static struct task_struct *find_task(pid_t nr)
{
	struct task_struct *task = find_process(nr);
	int err;

	if (!task)
		return ERR_PTR(-ESRCH);
	if (may_be_target(task))
		return task;
	err = target_refusal(task);
	put_task_struct(task);
	return ERR_PTR(err);
}

/*
 * A process that @nr means in a request by the caller, who may trace it; counted. The number is
 * looked up once.
 */
struct task_struct *cryo_find_target(pid_t nr, u32 scope, struct pid **group)
{
	struct task_struct *task;

	*group = NULL;
	if (scope != CRYO_SCOPE_PGRP && scope != CRYO_SCOPE_SESSION)
		return find_task(nr);
	*group = find_group(nr, scope);
	task = *group ? find_one_of(*group, scope == CRYO_SCOPE_PGRP ? PIDTYPE_PGID : PIDTYPE_SID) :
			ERR_PTR(-ESRCH);
	if (IS_ERR(task)) {
		put_pid(*group);
		*group = NULL;
	}
	return task;
}

bool cryo_is_request(struct file *file)
{
	return file->f_op == &cryo_request_fops;
}

/*
 * Is @file the handle of a command that is at work on a checkpoint, of whatever, and is the process
 * @tgid? What it is about to do to its file means nothing after a restart.
 */
bool cryo_is_command(struct file *file, struct pid *tgid)
{
	struct cryo_request *req;

	if (!cryo_is_request(file))
		return false;
	req = file->private_data;
	return req->args.flags & CRYO_CKPT_COMMAND && req->requester == tgid;
}

unsigned long cryo_jiffies(u32 ms)
{
	return DIV_ROUND_UP((u64)ms * HZ, MSEC_PER_SEC);
}
