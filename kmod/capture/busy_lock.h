/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * busy_lock.h - locks that others hold for as long as they like
 *
 * The locks of pipes, sockets, epolls, rings and terminals are held while bytes are copied from or to user memory, which may be that of
 * a FUSE file or one with userfaultfd, or are waited for by who has such a one.  Who shares such a file with the job and is not part of it, or has sent it to the job, can so stop who wants the lock; and the kernel's own
 * functions wait for it without being killable.  The same for a work that takes such a lock.
 */
#ifndef CRYO_BUSY_LOCK_H
#define CRYO_BUSY_LOCK_H

#include <linux/mutex.h>
#include <linux/rwsem.h>

struct cryo_capture;
struct cryo_object;
struct cryo_request;
struct mm_struct;
struct sock;
struct work_struct;

/*
 * For a second at most, and as long as the request has time: else an error, of which the log tells the descriptor of @o and @what
 * that is.
 */
int cryo_busy_mutex_lock(struct cryo_capture *c, struct cryo_object *o, struct mutex *lock,
			 const char *what);

/* The same, as down_read(); without @o nothing is told. */
int cryo_busy_read_lock(struct cryo_capture *c, struct cryo_object *o, struct rw_semaphore *lock,
			const char *what);

/*
 * mmap_lock of another process, for as long as the request has time, and nobody is killed who waits for its end: others have it while they wait
 * for a page fault that a server takes, or wait for it and keep later ones out.  What wakes who waits for such a lock is SIGKILL alone.
 */
int cryo_mmap_read_lock(struct cryo_request *req, struct mm_struct *mm);
int cryo_mmap_write_lock(struct cryo_request *req, struct mm_struct *mm);

/* The same, as flush_work(): @work takes locks of this kind. */
int cryo_busy_work(struct cryo_capture *c, struct cryo_object *o, struct work_struct *work,
		   const char *what);

/* The same, as lock_sock(), of the socket of @o or its peer. */
int cryo_sock_lock(struct cryo_capture *c, struct cryo_object *o, struct sock *sk);
void cryo_sock_unlock(struct sock *sk);

#endif /* CRYO_BUSY_LOCK_H */
