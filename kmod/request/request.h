/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * request.h - a checkpoint request, its processes and their threads
 *
 * A request (struct cryo_request) has processes (struct cryo_proc), and these have threads (struct
 * cryo_parked). All parts of a checkpoint have them; here is what all may do with them.
 * checkpoint/handle.c has the calls of its handle, and the order of it all.
 */
#ifndef CRYO_REQUEST_REQUEST_H
#define CRYO_REQUEST_REQUEST_H

#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/task_work.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <cryo/client.h>
#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "access/access.h"
#include "lib/buf.h"
#include "lib/log.h"
#include "park_arch.h"
#include "resources.h"

struct cryo_exclusions;
struct cryo_fd_record;
struct cryo_vma_record;

enum cryo_park_state {
	CRYO_PARK_ASKED,	/* task work queued, not run yet */
	CRYO_PARK_PARKED,	/* waits in its task work */
	/* stopped by job control: stays where it is, work queued; parks before anything else */
	CRYO_PARK_STOPPED,
	CRYO_PARK_GONE,		/* exiting */
};

/*
 * One thread asked to park.  Referenced by the request and, while the task work is queued or
 * running, by that.
 */
struct cryo_parked {
	struct callback_head work;
	struct kref ref;
	struct list_head node;		/* in cryo_request.parked */
	struct list_head sibling;	/* in cryo_proc.threads */
	struct hlist_node hash;		/* in cryo_index.by_task */
	struct task_struct *task;	/* counted */
	struct cryo_proc *proc;		/* its process; valid while in a list of the request */
	struct cryo_request *req;	/* counted */
	enum cryo_park_state state;	/* under cryo_request.park_lock */
	bool let_go;
	u8 laps;			/* how often other works of the thread went first */
	bool self;			/* the requester's own: not queued, is where it is */
	/* the thread sleeps in our own work, and comes by itself: see wait_for_uring() */
	bool at_work;
	/* a thread of the kernel: in cryo_request.pollers, not in the context */
	bool poller;
	/*
	 * counted: among whose works that are left with threads this one is, see may_leave(); NULL:
	 * nobody's
	 */
	struct cryo_user *left_of;
	/* of the process that the caller has named: stays, though it may be a vfork() child */
	bool named;
	bool counted;			/* is part of the context being written */
	/* changed its identity after it was asked, and went on: see park_thread() */
	bool changed;
	/* was in the middle of a call: see cryo_arch_within_call() */
	bool within;
	/* ... that has been interrupted, at its tracer's stop after it */
	bool at_stop;
	/* when it parked: by whom may be over, but not what it is in the middle of for him */
	bool traced;
	struct cryo_identity asked;	/* its identity then */
	s64 wait_ns;			/* remaining time of a timed wait, see timed_wait.c */
	/* the thread's voluntary context switches once it sleeps in that */
	unsigned long wait_switches;
	bool has_wait;
	/* first of its process with the same fs_struct; NULL: it has the process's */
	struct cryo_parked *fs_first;
	int fs_users;			/* threads of its process with it, where it is the first */
	struct cryo_arch_park arch;
};

/* Of a memory: what has been used since the checkpoint before (used.c). */
struct cryo_used {
	struct cryo_buf runs;		/* struct cryo_page_run, CRYO_USED_MAX_RUNS at most */
	unsigned long gap;		/* bytes: runs that are no farther apart become one */
	bool unsorted;
	bool others;			/* there are pages that have not been used */
};

/* One process of the scope.  Belongs to the request, and is changed by the requester only. */
struct cryo_proc {
	struct list_head node;		/* in cryo_request.procs */
	struct hlist_node hash;		/* in cryo_index.by_group */
	struct hlist_node claim;	/* among the processes of all requests */
	struct cryo_request *req;	/* not counted: lives in it */
	/* of the participant who wants it in the scope; NULL: the request itself does */
	const struct cred *on_behalf;
	struct task_struct *leader;	/* counted; as found: exec() may make another one that */
	struct pid *tgid;		/* counted */
	pid_t pid;			/* in the requester's namespace */
	char comm[TASK_COMM_LEN];
	struct list_head threads;	/* of struct cryo_parked */
	/* has exited, and its parent, in the scope, has not waited */
	bool zombie;
	/* has exited and will not be waited for: not in the context */
	bool gone;
	bool told;			/* its participants, if any, know of the request */
	/* of the requester, which has not exited yet: see requester.c */
	bool stand_in;
	bool signalled;			/* has got the signal of the request's end */
	bool tree;			/* its children belong to the scope */
	/* of the participant who wants them there; NULL: the request does */
	const struct cred *tree_for;
	/* at which of cryo_request.looks it came to a tree; 0: with itself */
	unsigned int joined;
	unsigned int looked_at;		/* the last of them at which it was asked of */
	struct cryo_proc *up;		/* its parent then; valid during that look */
	/* others may wait for it uninterruptibly: asked to park when they have */
	bool answers;
	/* has left itself out: is not stopped, and not in the context */
	bool omitted;
	unsigned int children_left_out;	/* see outsiders.c */
	/* NULL: none; its own; under cryo_participants_lock before all have voted */
	struct cryo_exclusions *excluded;

	/* What capture.c collects. */
	/*
	 * Its leader, parked; another thread when that has exited; or a zombie. Counted elsewhere.
	 */
	struct task_struct *task;
	struct mm_struct *mm;		/* counted */
	u32 mm_id;
	bool no_new_privs;		/* all of its threads have them */
	bool own_directories;		/* one of its threads has an fs_struct of its own */
	/* with one that comes before it; or not at all, as somebody else has it, too */
	bool mm_saved;
	struct cryo_fd_record *fds;
	unsigned int nr_fds;
	/* open files that it is the first to have, but not by a descriptor: struct cryo_object */
	struct hlist_head without_fd;
	struct cryo_vma_record *vmas;
	unsigned int nr_vmas;
	/* what resources have found in its memory; see resources.h */
	struct cryo_buf notes[CRYO_NR_NOTES];
	struct cryo_buf left_out;	/* struct cryo_excluded */
	struct cryo_buf unchanged;	/* struct cryo_page_run: as in the parent; ascending */
	struct cryo_used used;
	u32 parent_mm;			/* its number there; 0: not known */
	struct file *exe;
};

#define cryo_for_each_proc(proc, req)	list_for_each_entry(proc, &(req)->procs, node)

/* What makes looking for one among many fast; there while processes are claimed. */
struct cryo_index {
	DECLARE_HASHTABLE(by_group, 13);	/* struct cryo_proc by signal_struct */
	DECLARE_HASHTABLE(by_task, 14);		/* struct cryo_parked */
	/* struct cryo_forward of groups and sessions, the first of each */
	DECLARE_HASHTABLE(by_pid, 10);
};

struct cryo_request {
	struct kref ref;
	struct mutex lock;		/* serialises RUN, THAW and close */
	struct cryo_checkpoint args;
	struct file *out;		/* counted, in CRYO_CKPT_RUN */
	const void *out_key;		/* its address, by which it is most likely known again */
	struct task_struct *target;	/* group leader, or thread that stands for it */
	pid_t pid;			/* of @target, in the requester's namespace */
	char comm[TASK_COMM_LEN];
	struct cryo_log log;

	u32 state;			/* CRYO_STATE_*, written under @lock, read anywhere */
	int result;
	bool done;			/* RUN has ended */
	bool resumed;			/* the processes, before the context was written */
	int signal;			/* that they get at the end; 0: none */
	struct cryo_buf connections;	/* see connections.h */
	wait_queue_head_t done_wait;	/* poll() */

	struct list_head devices;	/* rules, see device_rules.c; fixed once it runs */
	unsigned int nr_devices;
	struct list_head procs;		/* of struct cryo_proc; changed by the requester only */
	/* of @procs, @parked and @pollers; NULL: none is claimed */
	struct cryo_index *index;
	unsigned int nr_procs;
	struct pid *scope_pid;		/* of a process group or session; counted */

	spinlock_t park_lock;		/* protects the states of @parked, @pending and @worker */
	struct list_head parked;	/* of struct cryo_parked; changed by the requester only */
	unsigned int threads;		/* in @parked */
	/* of struct cryo_parked, likewise: of rings with IORING_SETUP_SQPOLL */
	struct list_head pollers;
	/* last of @procs that counts as known, see cryo_scope_limit_gone() */
	struct list_head *known;
	/* how many of @procs there were when those were counted that have gone */
	unsigned int asked_at;
	bool overrun;			/* they were too many */
	/* how often it was asked who of @procs has come to a tree */
	unsigned int looks;
	/* processes that had been found were forgotten: see serve_forward() */
	bool look_again;
	/* no process is left out any more because it has to answer others */
	bool all_asked;
	/*
	 * jiffies without anybody new, until it is not waited for who may wait for those that are
	 * parked
	 */
	unsigned long patience;
	/* jiffies, when a thread last came to rest, was found or was asked */
	unsigned long progress;
	/* how many threads were in the middle of a call when last looked at */
	unsigned int within;
	unsigned long within_since;	/* jiffies, since when there was nothing new but those */
	/* how many processes were not at rest when last looked at */
	int restless;
	unsigned int pending;		/* of both asked, but neither parked nor stopped nor gone */
	wait_queue_head_t park_wait;	/* the requester: a thread arrived */
	wait_queue_head_t thaw_wait;	/* parked threads: let go */
	bool looking;			/* no thread of @parked may end; under @park_lock */
	/*
	 * somebody of it was killed, or continued, while @looking: that ends. NULL: nobody. Under
	 * @park_lock
	 */
	struct cryo_proc *lost;
	bool lost_continued;		/* he was continued */
	wait_queue_head_t look_wait;	/* those that have been killed meanwhile */

	struct pid *requester;		/* the process that made the handle; counted */
	char *dest;			/* path of @out, NULL: it has none */
	struct list_head participants;	/* under cryo_participants_lock, see participant.h */
	struct list_head forwards;	/* likewise: not looked at yet */
	unsigned int nr_forwards;	/* likewise: up to now */
	bool no_forwards;		/* likewise: they are not handled any more */
	bool news;			/* likewise: a vote against, a forward or a closed handle */
	unsigned int missing;		/* likewise: participants that have not voted */
	/* likewise: participants whose callbacks go on behind the checkpoint */
	struct list_head ending;
	unsigned int unended;		/* likewise: how many of them have not come to their end */
	struct list_head forwarded;	/* more scopes; the requester's own */
	wait_queue_head_t forward_wait;	/* waiters for one of @forwards */
	struct cryo_ckpt_verdict verdict;	/* written by the requester */
	/* of the vote that is the verdict; counted; NULL: there is none */
	const struct cred *voter;
	char verdict_comm[TASK_COMM_LEN];
	char verdict_note[CRYO_CLIENT_NOTE_MAX];

	struct task_struct *worker;	/* task in CRYO_CKPT_RUN */
	struct timer_list timer;	/* the request's deadline */
	unsigned long deadline;		/* jiffies */
	bool cancelled;
	bool timed_out;
	bool interrupt_armed;		/* @interrupt is queued at @worker */
	struct callback_head interrupt;

	ktime_t freeze_begin;
	unsigned long uring_limit;	/* jiffies: until then requests of io_uring may end */
	u64 freeze_ns;
	u64 pause_ns;
	atomic64_t written;
	u64 estimate;			/* bytes, upper bound */
	u32 obstacles;			/* CRYO_OBSTACLE_* */
	u64 pages_saved;
	u64 pages_zero;
	u64 pages_unchanged;
	bool has_parent;
	u8 parent[CRYO_HASH_SIZE];	/* identity of the context that this one is compared with */
	u64 track_serial;		/* of this capture, see track.c; 0: none yet */
	unsigned long last_event;	/* jiffies of the last progress event */
};

/* processes.c: looking for a process, or a thread, of a request */

/* The process that messages about the job as a whole name. */
static inline struct cryo_proc *cryo_first_proc(struct cryo_request *req)
{
	return list_first_entry(&req->procs, struct cryo_proc, node);
}

/**
 * cryo_inspect_begin() - from here on no thread of a request ends without being noticed
 * @req: the request, parked
 *
 * Who is killed waits in its task work until cryo_inspect_end(), so that what it has stays;
 * cryo_request_interrupted() then fails.
 */
void cryo_inspect_begin(struct cryo_request *req);

/**
 * cryo_inspect_end() - let those go that were killed meanwhile
 * @req: the request
 *
 * Nothing of the processes may be referenced uncounted any more.
 */
void cryo_inspect_end(struct cryo_request *req);

/**
 * cryo_next_thread() - the next thread of a process that is in the context
 * @proc: the process
 * @t: the one before; NULL: the first
 *
 * Return: NULL: that was the last.
 */
struct cryo_parked *cryo_next_thread(struct cryo_proc *proc, struct cryo_parked *t);

/**
 * cryo_find_proc() - the process of a request that a task belongs to
 * @req: the request
 * @task: any task
 *
 * In the requester, or with its processes claimed.
 *
 * Return: NULL: none of them.
 */
struct cryo_proc *cryo_find_proc(struct cryo_request *req, struct task_struct *task);

/**
 * cryo_find_parked() - the thread of a request that a task is
 * @req: the request
 * @task: any task
 *
 * Return: NULL: none that was asked to park.
 */
struct cryo_parked *cryo_find_parked(struct cryo_request *req, struct task_struct *task);

/* request.c: a checkpoint request */

/**
 * cryo_jiffies() - a time as jiffies, also where msecs_to_jiffies() says "for ever"
 * @ms: the time in ms
 *
 * Return: jiffies, rounded up.
 */
unsigned long cryo_jiffies(u32 ms);

/**
 * cryo_request_get() - another reference
 * @req: a request that the caller has, or that cannot go meanwhile
 */
void cryo_request_get(struct cryo_request *req);

/**
 * cryo_request_put() - a reference less
 * @req: the request; freed with the last one
 *
 * Any context that may free a file: not under a spinlock.
 */
void cryo_request_put(struct cryo_request *req);

/**
 * cryo_request_interrupted() - should the request end now?
 * @req: the request, in its worker
 *
 * Asked in every loop whose length users can choose, and after every wait.
 *
 * Return: 0, -ECANCELED, -ETIMEDOUT, -EINTR (a fatal signal), or -ESRCH when somebody of the job
 * was killed while it is looked at.
 */
int cryo_request_interrupted(struct cryo_request *req);

/**
 * cryo_request_lock() - the lock that RUN, THAW and the like hold
 * @req: the request
 *
 * Killable and freezable.
 *
 * Return: 0 or -EINTR.
 */
int cryo_request_lock(struct cryo_request *req);

/**
 * cryo_request_unlock() - the end of cryo_request_lock()
 * @req: the request
 *
 * Wakes up the pollers of the handle.
 */
void cryo_request_unlock(struct cryo_request *req);

/**
 * cryo_request_poke() - get the worker out of an interruptible wait
 * @req: the request
 *
 * Any context. Says nothing about whether it should end: the worker asks cryo_request_poked().
 */
void cryo_request_poke(struct cryo_request *req);

/**
 * cryo_request_poked() - was a wait interrupted by cryo_request_poke() alone?
 * @req: the request, in its worker
 *
 * Return: true: the worker may wait again.
 */
bool cryo_request_poked(struct cryo_request *req);

/**
 * cryo_request_state() - set the state that status and listeners see
 * @req: the request
 * @state: CRYO_STATE_*
 */
void cryo_request_state(struct cryo_request *req, u32 state);

/**
 * cryo_is_request() - is this the handle of a checkpoint?
 * @file: any file
 *
 * Return: true: it is.
 */
bool cryo_is_request(struct file *file);

/**
 * cryo_is_command() - is this the handle of a command that is at work on a checkpoint?
 * @file: any file
 * @tgid: the process that has it
 *
 * What such a one is about to do to its file means nothing after a restart.
 *
 * Return: true: it is, and the process is that command.
 */
bool cryo_is_command(struct file *file, struct pid *tgid);

/**
 * cryo_find_target() - the process that a number means in a request by the caller
 * @nr: pid, process group or session in his namespace; 0: his own
 * @scope: CRYO_SCOPE_*
 * @group: is the group or session then, counted; NULL for other scopes, and on errors
 *
 * Return: a counted task that the caller may trace; -ESRCH or -EPERM.
 */
struct task_struct *cryo_find_target(pid_t nr, u32 scope, struct pid **group);

/**
 * cryo_request_ask_target() - may the caller, who need not be who made the handle, still trace the
 * target?
 * @req: the request; not one of CRYO_STATE_RESTARTED, which has none
 *
 * Context: May sleep: see cryo_may_trace().
 *
 * Return: 0; -ESRCH: it has gone; -EPERM.
 */
int cryo_request_ask_target(struct cryo_request *req);

/* device_rules.c: what the requester wants done with descriptors of devices */

/**
 * cryo_device_rule_add() - note what CRYO_CKPT_DEVICE says
 * @req: the request, before it runs
 * @arg: the argument of that call
 *
 * The last rule for a device counts.
 *
 * Context: With cryo_request_lock().
 *
 * Return: 0, -ENOSPC when there are too many, or another errno.
 */
int cryo_device_rule_add(struct cryo_request *req, void __user *arg);

/**
 * cryo_device_rule() - what the requester wants done with descriptors of a device
 * @req: the request
 * @inode: of the special file
 *
 * Return: CRYO_DEVICE_*; CRYO_DEVICE_FAIL if there is no rule.
 */
u32 cryo_device_rule(struct cryo_request *req, struct inode *inode);

void cryo_device_rules_free(struct cryo_request *req);

/**
 * cryo_request_alloc() - a request that does nothing yet
 *
 * Return: the request, for cryo_request_put(); NULL: no memory.
 */
struct cryo_request *cryo_request_alloc(void);

/**
 * cryo_request_close_output() - let go of the file that the context is written to
 * @req: the request
 *
 * Not held longer than it is needed: the reader of a pipe waits for its end. Again is fine.
 *
 * Context: With cryo_request_lock(), or the last reference.
 */
void cryo_request_close_output(struct cryo_request *req);

/* checkpoint/handle.c: of handles, by which they are known. */
extern const struct file_operations cryo_request_fops;

#endif /* CRYO_REQUEST_REQUEST_H */
