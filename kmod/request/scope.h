/* SPDX-License-Identifier: GPL-2.0-only */
/* scope.h - which processes belong to a request */
#ifndef CRYO_REQUEST_SCOPE_H
#define CRYO_REQUEST_SCOPE_H

#include <linux/types.h>

struct cryo_forward;
struct cryo_proc;
struct cryo_request;
struct list_head;
struct pid;
struct task_struct;

/* The scope as it was before one more was added. */
struct cryo_scope_mark {
	struct list_head *last;		/* of cryo_request.procs */
	struct cryo_forward *added;	/* NULL: none has been */
	/* why the process by which its group was found is not taken; 0: it is */
	int rootless;
	unsigned int looks;		/* of cryo_request, and so what follows */
	unsigned int asked_at;
	bool overrun;
};

/* scope.c: which processes belong to a request */

/**
 * cryo_scope_add() - add one more scope
 * @req: the request
 * @f: the scope; the request's, but for an error
 * @mark: is for cryo_scope_undo() then
 *
 * cryo_scope_find() adds the others that belong to it.
 *
 * Context: In the requester.
 *
 * Return: 0, or a negative errno: then nothing has been added.
 */
int cryo_scope_add(struct cryo_request *req, struct cryo_forward *f, struct cryo_scope_mark *mark);

/**
 * cryo_scope_undo() - take out what has been added
 * @req: the request
 * @mark: of cryo_scope_add()
 *
 * Its forward is not the request's any more. None of its processes has been notified of the
 * request.
 *
 * Context: In the requester.
 */
void cryo_scope_undo(struct cryo_request *req, const struct cryo_scope_mark *mark);

/*
 * Processes, or threads, that have been found and have gone while others were waited for: each is
 * kept until the end, about 12 KiB.
 */
#define CRYO_MAX_GONE	4096

/**
 * cryo_scope_has_group() - is one of a group or session in the scope?
 * @req: the request
 * @f: has the group or session
 *
 * Context: In the requester.
 *
 * Return: true: at least one.
 */
bool cryo_scope_has_group(struct cryo_request *req, const struct cryo_forward *f);

/**
 * cryo_scope_limit_gone() - bound how many that have gone are kept
 * @req: the request
 *
 * CRYO_MAX_GONE of those that are found from now on.
 *
 * Context: In the requester.
 */
void cryo_scope_limit_gone(struct cryo_request *req);

/**
 * cryo_scope_overrun() - have more come and gone than are kept?
 * @req: the request
 *
 * No processes are searched for then.
 *
 * Context: In the requester.
 *
 * Return: true: they have.
 */
bool cryo_scope_overrun(struct cryo_request *req);

/* Is it what the caller has named, and not only where a search begins? */
static inline bool cryo_proc_is_named(const struct cryo_proc *p)
{
	u32 scope = p->req->args.scope;

	return p->leader == p->req->target && scope != CRYO_SCOPE_PGRP &&
	       scope != CRYO_SCOPE_SESSION;
}

/**
 * cryo_scope_begin() - claim the target
 * @req: the request
 *
 * Return: 0, -EBUSY if another request has it, or another errno: then there is nothing to end.
 */
int cryo_scope_begin(struct cryo_request *req);

/**
 * cryo_scope_find() - claim all processes of the scope that are there now
 * @req: the request
 *
 * Called again until it finds no more.
 *
 * Return: how many were found, or a negative errno.
 */
int cryo_scope_find(struct cryo_request *req);

/**
 * cryo_scope_check() - may all processes in the scope still be traced?
 * @req: the request
 *
 * Notified processes have run since, and may have changed their credentials.
 *
 * Context: In the requester. May sleep.
 *
 * Return: 0, or a negative errno; the log of the request names the process.
 */
int cryo_scope_check(struct cryo_request *req);

/**
 * cryo_scope_settle() - count the processes that are still on their way
 * @req: the request, all known threads of which have parked
 * @report: name them in its log
 *
 * A process without threads must have exited.
 *
 * Context: In the requester.
 *
 * Return: how many.
 */
int cryo_scope_settle(struct cryo_request *req, bool report);

/**
 * cryo_scope_end() - give all processes back
 * @req: the request, thawed
 */
void cryo_scope_end(struct cryo_request *req);

#endif /* CRYO_REQUEST_SCOPE_H */
