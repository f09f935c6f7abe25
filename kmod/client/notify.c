// SPDX-License-Identifier: GPL-2.0-only
/*
 * notify.c - before the freeze: processes that take part are told, and vote
 *
 * All of this runs in the requester.  Processes run on meanwhile, and may fork: so
 * those in scope are looked for until all that are known have voted and there is nobody
 * new.  Whoever is late when the request is given up finds that out by its next call.
 *
 * After the checkpoint the callbacks go on, and the request ends when they have ended: their
 * processes are in it until then, so that another request for them, by a callback even, is an error
 * and no wait for ever.
 *
 * The list of a request's participants is changed by the requester alone, who goes through it
 * without the lock that all participants have in common, and takes that for one at a time.
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/jobctl.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/stat.h>
#include <linux/uaccess.h>

#include <cryo/client.h>
#include <cryo/ioctl.h>

#include "access/access.h"
#include "client/client.h"
#include "compat/fs.h"
#include "lib/point.h"
#include "lib/wait.h"
#include "request/participant.h"
#include "request/request.h"
#include "request/scope.h"

/* for callbacks before the signal of the end, without a time limit of the request */
#define SIGNAL_WAIT_MS	60000U
#define VOTE_JIFFIES	max(HZ / 20, 1)	/* until those that have not voted are looked at */
/* until all in scope are, whether they may still be traced */
#define CHECK_JIFFIES	HZ
#define TELL_ROUNDS	64	/* of those that come while others vote, and are told */
/* for those that come while others vote, and have nothing to be told */
#define TELL_LOOKS	8
/* for the callbacks of an earlier request that did not wait for them, or of a restart */
#define BUSY_JIFFIES	(5 * HZ)

/* Under the lock. The participant is the request's until the end. */
static void notify_participant(struct cryo_request *req, struct cryo_proc *proc,
			       struct cryo_participant *p)
{
	lockdep_assert_held(&cryo_participants_lock);
	kref_get(&p->ref);
	cryo_request_get(req);
	p->req = req;
	p->proc = proc;
	p->state = CRYO_PART_TOLD;
	p->told_at = jiffies;
	p->frozen_at = 0;
	p->vote = CRYO_VOTE_READY;
	p->code = 0;
	p->note[0] = '\0';
	list_add_tail(&p->node, &req->participants);
	req->verdict.clients++;
	req->missing++;
	wake_up(&p->wait);
}

static bool is_stopped(struct cryo_proc *proc)
{
	return READ_ONCE(proc->leader->signal->flags) & SIGNAL_STOP_STOPPED;
}

/* The thread that would answer, or NULL. Under the lock, and rcu_read_lock(). */
static struct task_struct *helper_of(struct cryo_participant *p)
{
	struct task_struct *task;

	lockdep_assert_held(&cryo_participants_lock);
	task = pid_task(p->helper ?: p->owner, p->helper ? PIDTYPE_PID : PIDTYPE_TGID);
	return task && !(task->flags & PF_EXITING) && task_tgid(task) == p->owner ? task : NULL;
}

/* Under the lock: is the thread that would answer still there? */
static bool has_helper(struct cryo_participant *p)
{
	bool alive;

	rcu_read_lock();
	alive = helper_of(p);
	rcu_read_unlock();
	return alive;
}

/*
 * Under the lock: by its control group, as batch systems suspend jobs? cgroup_task_frozen() alone
 * is true in vfork(2) and in a stop by a tracer, too. A task frozen by a group of version 1 looks
 * like one that is frozen because the machine suspends, but stays so while the requester runs.
 */
static bool is_frozen(struct cryo_participant *p)
{
	struct task_struct *task;
	bool v1, v2;

	rcu_read_lock();
	task = helper_of(p);
	v2 = task && cgroup_task_frozen(task) && READ_ONCE(task->jobctl) & JOBCTL_TRAP_FREEZE;
	v1 = task && READ_ONCE(task->__state) & TASK_FROZEN;
	rcu_read_unlock();
	if (!v1)
		p->frozen_at = 0;
	else if (!p->frozen_at)
		p->frozen_at = jiffies ?: 1;
	return v2 || (v1 && time_after(jiffies, p->frozen_at + BUSY_JIFFIES));
}

/*
 * Under the lock: is that so, and has its process not executed a program meanwhile, which closes
 * the handle?
 */
static bool helper_goes_on(struct cryo_participant *p)
{
	struct task_struct *task;
	bool same;

	if (!p->helper || !has_helper(p))
		return false;
	rcu_read_lock();
	task = pid_task(p->helper, PIDTYPE_PID);
	same = task && READ_ONCE(task->self_exec_id) == p->program;
	rcu_read_unlock();
	return same;
}

/* Under the lock: can it still do so? */
static bool is_alive(struct cryo_participant *p)
{
	return !p->closed && has_helper(p);
}

static bool is_running(struct pid *tgid)
{
	struct task_struct *task;
	bool running;

	rcu_read_lock();
	task = pid_task(tgid, PIDTYPE_TGID);
	running = task && !(READ_ONCE(task->signal->flags) & SIGNAL_GROUP_EXIT);
	rcu_read_unlock();
	return running;
}

/*
 * Its threads end before execve(2) closes its descriptors: in between is the end of its memory,
 * which takes what it takes.
 */
static bool is_in_exec(struct cryo_participant *p)
{
	struct task_struct *task;
	bool in;

	rcu_read_lock();
	task = pid_task(p->owner, PIDTYPE_TGID);
	in = task && (READ_ONCE(task->signal->group_exec_task) || task->in_execve);
	rcu_read_unlock();
	return in;
}

/* Or has it executed another one, whose descriptors are closed, or not, in a moment? */
static bool is_same_program(struct cryo_participant *p)
{
	struct task_struct *task;
	bool same;

	rcu_read_lock();
	task = pid_task(p->owner, PIDTYPE_TGID);
	same = !task || READ_ONCE(task->self_exec_id) == p->program;
	rcu_read_unlock();
	return same;
}

static void leave_out(struct cryo_request *req, struct cryo_proc *proc)
{
	if (proc->omitted)
		return;
	proc->omitted = true;
	proc->gone = true;
	req->verdict.omitted++;
}

/* Tell all participants of @proc that have not been told. Returns how many there are. */
static int notify_proc(struct cryo_request *req, struct cryo_proc *proc)
{
	struct cryo_participant *p = NULL;
	int n = 0;

	spin_lock(&cryo_participants_lock);
	while ((p = cryo_participant_find(proc->tgid, p))) {
		if (p->flags & CRYO_CLIENT_OMIT) {
			leave_out(req, proc);
			continue;
		}
		if (req->args.flags & CRYO_CKPT_NO_CALLBACKS || !is_alive(p) || p->req)
			continue;
		notify_participant(req, proc, p);
		n++;
	}
	spin_unlock(&cryo_participants_lock);
	proc->told = true;
	return n;
}

static unsigned long count_registrations(void)
{
	unsigned long n;

	spin_lock(&cryo_participants_lock);
	n = cryo_registrations;
	spin_unlock(&cryo_participants_lock);
	return n;
}

/* @again: also those that have been looked at, which may have registered since. */
static int notify_new(struct cryo_request *req, bool again)
{
	struct cryo_proc *proc;
	int n = 0;

	cryo_for_each_proc(proc, req) {
		if ((proc->told && !again) || proc->omitted)
			continue;
		n += notify_proc(req, proc);
		if (cryo_request_interrupted(req))
			break;
		cond_resched();
	}
	return n;
}

/* The first vote that counts is the verdict. Under the lock. */
static void refuse_request(struct cryo_request *req, struct cryo_participant *p, u32 vote, u32 code)
{
	lockdep_assert_held(&cryo_participants_lock);
	if (req->verdict.vote != CRYO_VOTE_READY)
		return;
	req->verdict.vote = vote;
	req->verdict.code = code;
	req->verdict.pid = p->proc->pid;
	req->voter = p->voter ? get_cred(p->voter) : NULL;
	strscpy(req->verdict_comm, p->proc->comm, sizeof(req->verdict_comm));
	memcpy(req->verdict_note, p->note, sizeof(req->verdict_note));
}

/*
 * There will be no vote: by the end of its process, or of the helper in the middle of a callback.
 * Or the process has closed the handle meanwhile, and its helper goes on with what it does before
 * this checkpoint, or an earlier one. Under the lock.
 */
static void give_up(struct cryo_participant *p)
{
	bool at_work = p->state == CRYO_PART_ACTIVE || (p->state == CRYO_PART_TOLD && p->busy);
	bool goes_on = p->closed ? at_work && helper_goes_on(p) :
				   p->state == CRYO_PART_ACTIVE && is_same_program(p);

	lockdep_assert_held(&cryo_participants_lock);
	if (goes_on && is_running(p->owner)) {
		p->vote = CRYO_VOTE_TEMPORARY;
		p->code = CRYO_CODE_TEMPORARY;
		if (p->closed)
			strscpy(p->note, "it has closed its handle meanwhile", sizeof(p->note));
	}
	p->state = CRYO_PART_VOTED;
	p->req->missing--;
}

/* A copy of what is to be said of who has not voted, so that it can be said without the lock. */
struct late_voter {
	pid_t pid;
	char comm[TASK_COMM_LEN];
	char note[CRYO_CLIENT_NOTE_MAX];
	bool told;		/* has not even taken notice */
	bool busy;		/* as it is still with an earlier one, and has been for long */
	const char *stopped;	/* is so, and does not answer; NULL: it could */
};

/* Counts the vote of @p. Returns whether it is missing, and @late then says of whom. */
static bool look_at_vote(struct cryo_request *req, struct cryo_participant *p,
			 struct late_voter *late)
{
	bool missing;

	spin_lock(&cryo_participants_lock);
	/*
	 * Who was in the middle of a callback refuses nothing, either, by an execve(2) that has not
	 * closed the handle yet.
	 */
	if (p->state != CRYO_PART_VOTED && !is_alive(p) &&
	    (p->closed || p->state != CRYO_PART_ACTIVE || !is_in_exec(p)))
		give_up(p);
	missing = p->state != CRYO_PART_VOTED;
	if (missing) {
		late->pid = p->proc->pid;
		strscpy(late->comm, p->proc->comm, sizeof(late->comm));
		memcpy(late->note, p->note, sizeof(late->note));
		late->told = p->state == CRYO_PART_TOLD;
		late->busy = late->told && p->busy &&
			     time_after(jiffies, p->told_at + BUSY_JIFFIES);
		late->stopped = is_stopped(p->proc) ? "stopped (SIGCONT continues it)" :
				is_frozen(p) ? "frozen by its control group" : NULL;
	} else if (p->vote == CRYO_VOTE_OMIT) {
		leave_out(req, p->proc);
	} else if (p->vote != CRYO_VOTE_READY) {
		refuse_request(req, p, p->vote, p->code);
	}
	spin_unlock(&cryo_participants_lock);
	return missing;
}

static void log_late_vote(struct cryo_request *req, const struct late_voter *late)
{
	cryo_log(&req->log, "pid %d (%s): was not ready for the checkpoint in time%s%s",
		 late->pid, late->comm,
		 late->stopped ? ": it is " : late->told ? ": still busy with an earlier one" :
		 late->note[0] ? ": " : "",
		 late->stopped ?: late->told ? "" : late->note);
}

/*
 * What all said up to now. Returns how many have not voted, or an error: one of them is stopped,
 * and so cannot answer, and does not come to rest by waiting for it; or it is still busy, and may
 * be so because it waits for this very request. @in_time: false: those are named, and no error.
 */
static int count_votes(struct cryo_request *req, bool in_time)
{
	struct cryo_participant *p;
	struct late_voter late;
	int missing = 0;

	list_for_each_entry(p, &req->participants, node) {
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		if (!look_at_vote(req, p, &late))
			continue;
		missing++;
		if (!in_time || late.stopped)
			req->verdict.missing = missing;
		if (!in_time) {
			log_late_vote(req, &late);
		} else if (late.stopped) {
			cryo_log(&req->log,
				 "pid %d (%s): has callbacks for checkpoints, which cannot run: it is %s; --callbacks=no does without",
				 late.pid, late.comm, late.stopped);
			return -ETIMEDOUT;
		} else if (late.busy) {
			cryo_log(&req->log,
				 "pid %d (%s): callbacks of an earlier checkpoint or restart of it have not ended",
				 late.pid, late.comm);
			return -EBUSY;
		}
	}
	return missing;
}

static int request_verdict(struct cryo_request *req)
{
	const struct cryo_ckpt_verdict *v = &req->verdict;

	if (v->vote == CRYO_VOTE_READY)
		return 0;
	cryo_log(&req->log, "pid %d (%s): a callback refused the checkpoint%s (code %u)%s%s",
		 v->pid, req->verdict_comm, v->vote == CRYO_VOTE_PERMANENT ? " for good" : "",
		 v->code, req->verdict_note[0] ? ": " : "", req->verdict_note);
	return -ECANCELED;
}

static struct cryo_forward *next_forward(struct cryo_request *req)
{
	struct cryo_forward *f;

	spin_lock(&cryo_participants_lock);
	f = list_first_entry_or_null(&req->forwards, struct cryo_forward, node);
	if (f)
		list_del_init(&f->node);
	spin_unlock(&cryo_participants_lock);
	return f;
}

static void end_forward(struct cryo_request *req, struct cryo_forward *f, int result)
{
	spin_lock(&cryo_participants_lock);
	f->result = result;
	f->done = true;
	spin_unlock(&cryo_participants_lock);
	wake_up_all(&req->forward_wait);
}

/*
 * Add what @f wants, and tell those who are new. When one of them is in another checkpoint, the
 * scope is as before, and that is an error of the forward only. Takes @f. Returns an error of the
 * request.
 */
static int serve_forward(struct cryo_request *req, struct cryo_forward *f)
{
	struct cryo_scope_mark mark;
	int err = cryo_scope_add(req, f, &mark);
	bool added = !err, failed;

	if (added)
		err = min(cryo_scope_find(req), 0);
	if (added && !err && mark.rootless && !cryo_scope_has_group(req, f))
		err = mark.rootless;
	/* Its others have not been looked for. */
	if (added && !err && f->scope != CRYO_SCOPE_PROCESS && req->overrun)
		err = -EAGAIN;
	failed = err == -EBUSY || err == -EDEADLK || err == -ESRCH || err == -EAGAIN;
	if (added && failed) {
		cryo_scope_undo(req, &mark);
		req->look_again = true;
	}
	end_forward(req, f, err);
	if (!added || failed) {
		cryo_forward_put(f);
		return 0;
	}
	if (!err)
		notify_new(req, false);
	return err;
}

static int serve_forwards(struct cryo_request *req)
{
	struct cryo_forward *f;
	int err = 0;

	while (!err && (f = next_forward(req))) {
		cond_resched();
		err = serve_forward(req, f);
	}
	return err;
}

/* From now on none is added. */
static void drop_forwards(struct cryo_request *req)
{
	struct cryo_forward *f;

	spin_lock(&cryo_participants_lock);
	req->no_forwards = true;
	spin_unlock(&cryo_participants_lock);
	while ((f = next_forward(req))) {
		end_forward(req, f, -ECANCELED);
		cryo_forward_put(f);
	}
}

static bool has_events(struct cryo_request *req)
{
	return !READ_ONCE(req->missing) || READ_ONCE(req->news) || READ_ONCE(req->timed_out) ||
	       READ_ONCE(req->cancelled);
}

static void consume_events(struct cryo_request *req)
{
	spin_lock(&cryo_participants_lock);
	req->news = false;
	spin_unlock(&cryo_participants_lock);
}

/* Not all have voted. Returns an error if they are not to be waited for any more. */
static int may_wait(struct cryo_request *req, unsigned long *next_check)
{
	int err = cryo_request_interrupted(req);

	if (err || time_before(jiffies, *next_check))
		return err;
	*next_check = jiffies + CHECK_JIFFIES;
	return cryo_scope_check(req);
}

static int wait_for_votes(struct cryo_request *req)
{
	unsigned long next_check = jiffies + CHECK_JIFFIES;
	int missing, err;
	bool in_time;

	for (;;) {
		consume_events(req);
		err = serve_forwards(req);
		if (err)
			return err;
		in_time = cryo_request_interrupted(req) != -ETIMEDOUT;
		missing = count_votes(req, in_time);
		err = request_verdict(req) ?: min(missing, 0);
		if (err || !missing)
			return err;
		if (!in_time)
			return -ETIMEDOUT;
		err = may_wait(req, &next_check);
		/* Once more, to name them. */
		if (err == -ETIMEDOUT && cryo_request_interrupted(req) == err)
			continue;
		if (err)
			return err;
		if (cryo_wait_event_timeout(req->park_wait, has_events(req), VOTE_JIFFIES) < 0)
			return -EINTR;
	}
}

static int check_anybody_left(struct cryo_request *req)
{
	struct cryo_proc *proc;

	if (!req->verdict.omitted)
		return 0;
	cryo_for_each_proc(proc, req)
		if (!proc->omitted)
			return 0;
	cryo_log(&req->log, "pid %d (%s): omitted itself from the checkpoint, and no other process is in scope",
		 req->pid, req->comm);
	return -ESRCH;
}

/* Where the context goes, as text; NULL when that has no name in a file system. */
static char *dest_of(struct cryo_request *req)
{
	char *page, *name, *dest = NULL;

	if (!req->out || file_inode(req->out)->i_sb->s_flags & (SB_KERNMOUNT | SB_NOUSER))
		return NULL;
	page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (!page)
		return NULL;
	name = d_path(cryo_user_path(req->out), page, PATH_MAX);
	if (!IS_ERR(name))
		dest = kstrdup(name, GFP_KERNEL_ACCOUNT);
	kfree(page);
	return dest;
}

/*
 * Who is new all the time is not told for ever: the freeze finds them. Nor as long as they like,
 * where each lives for a moment only, as all of them are kept.
 */
static bool has_told_enough(struct cryo_request *req, unsigned int rounds, unsigned int looks)
{
	return rounds == TELL_ROUNDS || looks == TELL_LOOKS || cryo_scope_overrun(req);
}

int cryo_notify(struct cryo_request *req)
{
	unsigned int looks = 0, rounds = 0;
	bool again = true, enough;
	unsigned long known = 0;
	int procs, told, err;

	req->dest = dest_of(req);
	do {
		procs = cryo_scope_find(req);
		if (procs < 0)
			return procs;
		if (!rounds && !looks)
			cryo_scope_limit_gone(req);
		if (again)
			known = count_registrations();
		told = notify_new(req, again);
		cryo_point("told");
		err = wait_for_votes(req) ?: cryo_request_interrupted(req);
		if (err)
			return err;
		rounds += told > 0;
		looks += !told;
		enough = has_told_enough(req, rounds, looks);
		again = !told && !procs && count_registrations() != known;
		/*
		 * Those of the request itself that came with a forward which failed have been
		 * forgotten.
		 */
		procs += req->look_again;
		req->look_again = false;
	} while ((told || procs || again) && !enough);
	if (enough && (told || (procs && req->verdict.clients)))
		cryo_log(&req->log, "pid %d (%s): it keeps creating processes: callbacks of some may not be run",
			 req->pid, req->comm);
	return check_anybody_left(req);
}

/* The participant is not the request's any more. Under the lock; to be put then, and @req. */
static void let_go(struct cryo_participant *p)
{
	lockdep_assert_held(&cryo_participants_lock);
	list_del_init(&p->node);
	p->ending = false;
	p->req = NULL;
	p->proc = NULL;
}

/*
 * It learns how the checkpoint has ended. Whether that is all: no callback of it runs. Under the
 * lock.
 */
static bool end_participant(struct cryo_participant *p, int result)
{
	bool left = p->vote != CRYO_VOTE_READY, unnoticed = p->state == CRYO_PART_TOLD;
	struct cryo_request *req = p->req;

	lockdep_assert_held(&cryo_participants_lock);
	p->result = result;
	p->frozen_at = 0;
	/* A participant that has refused it, or has not noticed, does not ask how it has ended. */
	if (unnoticed || (p->state == CRYO_PART_VOTED && left))
		p->state = CRYO_PART_IDLE;
	else
		p->state = CRYO_PART_ENDED;
	wake_up(&p->wait);
	/* What it is busy with, if it has not noticed, is an earlier one. */
	if (!p->busy || unnoticed) {
		let_go(p);
		return true;
	}
	list_move_tail(&p->node, &req->ending);
	p->ending = true;
	req->unended++;
	return false;
}

/* The helper of @p, under the lock, is back in WAIT: all callbacks have ended. */
void cryo_participant_back(struct cryo_participant *p)
{
	lockdep_assert_held(&cryo_participants_lock);
	if (p->busy && p->ending && !--p->req->unended)
		wake_up(&p->req->park_wait);
	p->busy = false;
}

/*
 * All in scope that the voter may signal; he has no right to the others by having been checkpointed
 * with them.
 */
static void kill_all(struct cryo_request *req)
{
	struct cryo_proc *proc;
	int err;

	cryo_for_each_proc(proc, req) {
		if (proc->omitted)
			continue;
		err = req->voter ? cryo_kill_as(req->voter, proc->tgid, SIGKILL) : -EPERM;
		if (err && err != -ESRCH)
			cryo_log(&req->log,
				 "pid %d (%s): is not killed: process %d, which voted for that, may not signal it",
				 proc->pid, proc->comm, req->verdict.pid);
		cond_resched();
	}
}

void cryo_notify_end(struct cryo_request *req, int result)
{
	struct cryo_participant *p;

	drop_forwards(req);
	cryo_point("dropped");
	if (req->verdict.vote != CRYO_VOTE_READY)
		result = -(int)req->verdict.code;
	if (req->verdict.vote == CRYO_VOTE_PERMANENT)
		kill_all(req);
	for (;;) {
		bool all;

		cond_resched();
		spin_lock(&cryo_participants_lock);
		p = list_first_entry_or_null(&req->participants, struct cryo_participant, node);
		all = p && end_participant(p, result);
		spin_unlock(&cryo_participants_lock);
		if (!p)
			return;
		if (all) {
			cryo_participant_put(p);
			cryo_request_put(req);
		}
	}
}

bool cryo_notify_ends_later(struct cryo_proc *proc)
{
	struct cryo_participant *p = NULL;
	bool later = false;

	spin_lock(&cryo_participants_lock);
	while (!later && (p = cryo_participant_find(proc->tgid, p)))
		later = p->busy && !p->no_end && p->req && is_alive(p);
	spin_unlock(&cryo_participants_lock);
	return later;
}

/* Under the lock: will its callbacks not come to an end by waiting? */
static bool is_hopeless(struct cryo_participant *p)
{
	return !is_alive(p) || is_stopped(p->proc) || is_frozen(p);
}

/*
 * Those that have ended, or never will, or all if @given_up, do not count any more. The latter are
 * named, unless the request had been given up before.
 */
static void look_at_ending(struct cryo_request *req, bool given_up)
{
	bool before = READ_ONCE(req->timed_out) || READ_ONCE(req->cancelled);
	struct cryo_participant *p, *next;
	struct late_voter late;
	bool end, say;

	/* Changed by the requester only. */
	list_for_each_entry_safe(p, next, &req->ending, node) {
		spin_lock(&cryo_participants_lock);
		end = !p->busy || given_up || is_hopeless(p);
		say = p->busy && given_up && !before && is_alive(p);
		if (say) {
			late.pid = p->proc->pid;
			strscpy(late.comm, p->proc->comm, sizeof(late.comm));
			memcpy(late.note, p->note, sizeof(late.note));
		}
		if (end && p->busy)
			req->unended--;
		if (end)
			let_go(p);
		spin_unlock(&cryo_participants_lock);
		if (say)
			cryo_log(&req->log, "pid %d (%s): its callbacks have not ended in time%s%s",
				 late.pid, late.comm, late.note[0] ? ": " : "", late.note);
		if (end) {
			cryo_participant_put(p);
			cryo_request_put(req);
		}
		cond_resched();
	}
}

void cryo_notify_wait(struct cryo_request *req)
{
	u32 ms = req->args.timeout_ms ?: (req->signal ? SIGNAL_WAIT_MS : 0);
	unsigned long limit = jiffies + cryo_jiffies(ms);
	bool give_up;

	while (!list_empty(&req->ending)) {
		give_up = fatal_signal_pending(current) || READ_ONCE(req->cancelled) ||
			  READ_ONCE(req->timed_out) ||
			  (ms && time_after(jiffies, limit));
		look_at_ending(req, give_up);
		if (list_empty(&req->ending))
			break;
		cryo_wait_event_timeout(req->park_wait, !READ_ONCE(req->unended) ||
					READ_ONCE(req->cancelled), VOTE_JIFFIES);
	}
}

long cryo_get_verdict(struct cryo_request *req, void __user *arg)
{
	struct cryo_ckpt_verdict out = req->verdict;
	u32 size;

	if (get_user(size, (u32 __user *)arg))
		return -EFAULT;
	if (size < offsetofend(struct cryo_ckpt_verdict, code))
		return -EINVAL;
	out.size = min_t(u32, size, sizeof(out));
	return copy_to_user(arg, &out, out.size) ? -EFAULT : 0;
}
