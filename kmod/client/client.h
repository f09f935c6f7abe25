/* SPDX-License-Identifier: GPL-2.0-only */
/* client.h - processes that take part in their own checkpoint */
#ifndef CRYO_CLIENT_CLIENT_H
#define CRYO_CLIENT_CLIENT_H

#include <linux/types.h>

struct cryo_held;
struct cryo_proc;
struct cryo_request;
struct pid;

/* client.c: the handle of a process that takes part in its own checkpoint */

/**
 * cryo_client_create() - CRYO_IOC_CLIENT
 * @arg: the argument of that call
 *
 * Return: a descriptor, or a negative errno.
 */
long cryo_client_create(void __user *arg);

/* notify.c: before the freeze */

/**
 * cryo_notify() - notify all participants in scope, and wait for their votes
 * @req: the request, the target of which is claimed
 *
 * Other processes may take long to vote; a process that registers meanwhile is protected from then
 * on. Call cryo_notify_end() whatever this returns.
 *
 * Context: In the requester. Sleeps until all have voted.
 *
 * Return: 0, or a negative errno.
 */
int cryo_notify(struct cryo_request *req);

/**
 * cryo_notify_end() - the checkpoint has ended: resume the participants
 * @req: the request
 * @result: of the checkpoint: 0 or a negative errno
 *
 * Context: In the requester, before cryo_scope_end().
 */
void cryo_notify_end(struct cryo_request *req, int result);

/**
 * cryo_notify_ends_later() - will callbacks of a process resume now that the checkpoint is over?
 * @proc: the process
 *
 * Context: Before cryo_notify_end().
 *
 * Return: true: they do.
 */
bool cryo_notify_ends_later(struct cryo_proc *proc);

/**
 * cryo_notify_wait() - wait for all callbacks that were notified of the end
 * @req: the request
 *
 * Waits at most as long as the request may take, counted from now. Callbacks that have not finished
 * by then are no error: the context is unaffected.
 *
 * Context: In the requester, after cryo_notify_end().
 */
void cryo_notify_wait(struct cryo_request *req);

/**
 * cryo_get_verdict() - CRYO_CKPT_VERDICT
 * @req: the request
 * @arg: the argument of that call
 *
 * Return: 0 or a negative errno.
 */
long cryo_get_verdict(struct cryo_request *req, void __user *arg);

/* hold.c: threads of a restarted process that wait until its callbacks are through */

/**
 * cryo_held_alloc() - prepare that the calling thread waits after its restart until callbacks are
 *	through
 *
 * Context: Before it parks. May sleep.
 *
 * Return: for cryo_held_start() or cryo_held_free(); -EINVAL: it has no holder; or another ERR_PTR.
 */
struct cryo_held *cryo_held_alloc(void);

/**
 * cryo_held_start() - wait for the callbacks
 * @h: of cryo_held_alloc(); taken
 *
 * Context: In the thread itself, when all else of its restart is done.
 */
void cryo_held_start(struct cryo_held *h);

/**
 * cryo_held_signal() - let a signal wait for the callbacks
 * @tgid: the process
 * @signal: that the restart sends it when it is through with it
 *
 * Return: false: there are none, and the caller sends it.
 */
bool cryo_held_signal(struct pid *tgid, int signal);

/**
 * cryo_held_free() - it waits for no callbacks after all
 * @h: of cryo_held_alloc(); NULL is fine
 *
 * Context: By the thread itself, or before it has been held.
 */
void cryo_held_free(struct cryo_held *h);

#endif /* CRYO_CLIENT_CLIENT_H */
