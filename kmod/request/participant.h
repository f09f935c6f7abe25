/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * participant.h - a process that takes part in its own checkpoint
 *
 * client.c has the handle that the process holds, notify.c what a request does
 * with it.  Both sides meet under cryo_participants_lock.
 */
#ifndef CRYO_PARTICIPANT_H
#define CRYO_PARTICIPANT_H

#include <linux/atomic.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include <cryo/client.h>

struct cryo_capture;

enum cryo_part_state {
	CRYO_PART_IDLE,		/* no request */
	CRYO_PART_TOLD,		/* a request waits to be fetched by CRYO_CLIENT_WAIT */
	CRYO_PART_ACTIVE,	/* callbacks run */
	CRYO_PART_VOTED,
	CRYO_PART_ENDED,	/* over; the result waits to be fetched by CRYO_CLIENT_VOTE */
};

/* The signal of a restart, for a process whose threads are held: it comes when they go on. */
struct cryo_late_signal {
	int number;			/* 0: none */
	/* of the process that committed the restart; counted; NULL: none */
	const struct cred *sender;
	/* self_exec_id of the process then: what it executes later gets none */
	u64 program;
};

struct cryo_participant {
	struct kref ref;		/* of the handle, and of the request that has it */
	struct hlist_node hash;		/* by owner */
	struct cryo_client_user *user;	/* the user that is charged; counted */
	struct list_head node;		/* in cryo_request.participants or .ending */
	wait_queue_head_t wait;		/* the helper */
	u32 flags;			/* CRYO_CLIENT_* */

	/* All below under cryo_participants_lock. */
	/* the process; counted; NULL: the first that uses the handle */
	struct pid *owner;
	/* thread that waits or votes; counted; NULL: none has come yet */
	struct pid *helper;
	u64 program;			/* its self_exec_id then */
	enum cryo_part_state state;
	struct cryo_request *req;	/* from TOLD to the end of its callbacks; counted */
	struct cryo_proc *proc;		/* of @req */
	bool closed;
	/* the helper has not come back to WAIT since a request or restart */
	bool busy;
	/* it has voted so: nothing of it is left to do after the checkpoint */
	bool no_end;
	bool ending;			/* in cryo_request.ending */
	unsigned long told_at;		/* jiffies */
	unsigned long frozen_at;	/* jiffies when TASK_FROZEN was first seen; 0: it is not */
	u32 vote;			/* CRYO_VOTE_* */
	const struct cred *voter;	/* of the process that cast it; counted; NULL: none yet */
	u32 code;
	s32 result;
	char note[CRYO_CLIENT_NOTE_MAX];

	/* the other threads wait after a restart until callbacks are through */
	bool holds;
	bool holding;			/* they do: see hold.c */
	struct cryo_late_signal late;
	/* struct cryo_held, by the number of their thread; has a lock of its own */
	struct xarray held;
	/* of these, not yet as they were at the checkpoint; under no lock */
	atomic_t unsettled;
	/* the helper before it hears of the restart: @unsettled is 0 */
	wait_queue_head_t settle_wait;

	bool restarted;			/* the restart has not been reported yet */
	bool has_restart;		/* @requester and @source are known */
	s32 requester;
	char *source;
	void *facts;
	u32 facts_len;
};

/* What a participant wants to be added to the request. Counted by both sides. */
struct cryo_forward {
	struct kref ref;
	struct list_head node;		/* in cryo_request.forwards, then in .forwarded */
	struct hlist_node hash;		/* in cryo_index.by_pid */
	u32 scope;			/* CRYO_SCOPE_* */
	struct task_struct *task;	/* counted */
	struct pid *pid;		/* of a process group or session; counted */
	const struct cred *cred;	/* of the process that wants it; counted */
	int result;
	bool done;			/* under cryo_participants_lock */
};

/**
 * cryo_forward_put() - a reference less
 * @f: what a participant has wanted to be added; freed with the last one
 */
void cryo_forward_put(struct cryo_forward *f);

/* client_user.c: how many handles each user has */

/**
 * cryo_client_user_charge() - charge the user of the caller with one handle more
 *
 * Context: May sleep.
 *
 * Return: the user, for cryo_client_user_uncharge(); -ENOSPC: he has as many as he may have; or
 * another ERR_PTR.
 */
struct cryo_client_user *cryo_client_user_charge(void);

/**
 * cryo_client_user_uncharge() - one handle less
 * @user: the user that was charged; NULL is fine
 */
void cryo_client_user_uncharge(struct cryo_client_user *user);

/* hold.c */
long cryo_held_release(struct cryo_participant *p, void __user *arg);
void cryo_held_end(struct cryo_participant *p);
bool cryo_held_settled(struct cryo_participant *p);
struct cryo_late_signal cryo_held_late_signal(struct cryo_participant *p);
void cryo_late_signal_send(struct pid *tgid, struct cryo_late_signal late);
void cryo_held_wake(struct cryo_participant *p);

extern spinlock_t cryo_participants_lock;	/* innermost but for waitqueues */
/* how often a handle has become a process's; under the lock */
extern unsigned long cryo_registrations;

/**
 * cryo_participant_put() - a reference less
 * @p: the participant; freed with the last one
 *
 * Context: Not under a spinlock.
 */
void cryo_participant_put(struct cryo_participant *p);

void cryo_participant_back(struct cryo_participant *p);

/**
 * cryo_participant_find() - the next participant of a process
 * @tgid: the process
 * @p: the one before; NULL: the first
 *
 * Context: With cryo_participants_lock.
 *
 * Return: NULL: that was the last.
 */
struct cryo_participant *cryo_participant_find(struct pid *tgid, struct cryo_participant *p);

/* client/client.c: of handles, by which they are known. */
extern const struct file_operations cryo_client_fops;
/* By owner. */
extern DECLARE_HASHTABLE(cryo_participants, 12);

/**
 * cryo_is_client() - is this the handle of a participant?
 * @file: any file
 *
 * Return: true: it is.
 */
bool cryo_is_client(struct file *file);

/**
 * cryo_is_helper() - is this a thread of libcr's?
 * @proc: a process
 * @task: a thread of it
 *
 * The helper, or the one that asks for the checkpoint. It knows nothing of what the program changes
 * by system calls that are about one thread, its credentials say: after a restart it has those of
 * the others.
 *
 * Return: true: it is.
 */
bool cryo_is_helper(struct cryo_proc *proc, struct task_struct *task);

/**
 * cryo_client_saved() - what the context says of the handle of a participant: cryo_file.pos
 * @file: the handle
 *
 * Return: pid of the owner, and of the helper in the upper half, each 0 where there is none, or
 * none that the caller can see.
 */
u64 cryo_client_saved(struct file *file);

#endif
