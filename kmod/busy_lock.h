/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * busy_lock.h - locks that others hold for as long as they like
 *
 * A pipe's and a socket's lock is held while bytes are copied from user memory, which may be that of a FUSE file or one
 * with userfaultfd.  Who shares a pipe or socket with the job and is not part of it can so stop who wants the lock; and the kernel's own
 * functions wait for it without being killable.
 */
#ifndef CRYO_BUSY_LOCK_H
#define CRYO_BUSY_LOCK_H

#include <linux/mutex.h>

struct cryo_capture;
struct cryo_object;
struct sock;

/*
 * For a second at most, and as long as the request has time: else an error, of which the log tells the descriptor of @o and @what
 * that is.
 */
int cryo_busy_mutex_lock(struct cryo_capture *c, struct cryo_object *o, struct mutex *lock,
			 const char *what);

/* The same, as lock_sock(), of the socket of @o or its peer. */
int cryo_sock_lock(struct cryo_capture *c, struct cryo_object *o, struct sock *sk);
void cryo_sock_unlock(struct sock *sk);

#endif /* CRYO_BUSY_LOCK_H */
