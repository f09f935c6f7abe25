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

/**
 * cryo_busy_mutex_lock() - mutex_lock() of what others may hold as long as they like
 * @c: the capture
 * @o: the open file
 * @lock: the lock
 * @what: that is, for the log
 *
 * For a second at most, and as long as the request has time.
 *
 * Return: 0, or a negative errno: the log tells the descriptor of @o and what is held.
 */
int cryo_busy_mutex_lock(struct cryo_capture *c, struct cryo_object *o, struct mutex *lock,
			 const char *what);

/**
 * cryo_busy_read_lock() - down_read(), likewise
 * @c: the capture
 * @o: the open file; NULL: the log tells nothing
 * @lock: the lock
 * @what: that is, for the log
 *
 * Return: 0, or a negative errno: the log tells the descriptor of @o and what is held.
 */
int cryo_busy_read_lock(struct cryo_capture *c, struct cryo_object *o, struct rw_semaphore *lock,
			const char *what);

/**
 * cryo_mmap_read_lock() - take mmap_lock of another process for reading
 * @req: the request, in its worker
 * @mm: the memory
 *
 * Others have it while they wait for a page fault that a server takes, or wait for it and keep
 * later ones out. So it is waited for as long as the request has time, and nobody is killed who
 * waits for its end: what wakes who waits for such a lock is SIGKILL alone.
 *
 * Return: 0, or a negative errno: it is not held.
 */
int cryo_mmap_read_lock(struct cryo_request *req, struct mm_struct *mm);

/**
 * cryo_mmap_write_lock() - the same for writing
 * @req: the request, in its worker
 * @mm: the memory
 *
 * Return: 0, or a negative errno: it is not held.
 */
int cryo_mmap_write_lock(struct cryo_request *req, struct mm_struct *mm);

/**
 * cryo_busy_work() - flush_work() of one that takes a lock of this kind
 * @c: the capture
 * @o: the open file
 * @work: the work
 * @what: that is, for the log
 *
 * Return: 0, or a negative errno: the log tells the descriptor of @o and what is held.
 */
int cryo_busy_work(struct cryo_capture *c, struct cryo_object *o, struct work_struct *work,
		   const char *what);

/**
 * cryo_sock_lock() - lock_sock(), likewise
 * @c: the capture
 * @o: the socket, or its peer
 * @sk: the socket
 *
 * Return: 0, or a negative errno: the log tells the descriptor of @o and what is held.
 */
int cryo_sock_lock(struct cryo_capture *c, struct cryo_object *o, struct sock *sk);

/**
 * cryo_sock_unlock() - release_sock()
 * @sk: a socket that cryo_sock_lock() has locked
 */
void cryo_sock_unlock(struct sock *sk);

#endif /* CRYO_BUSY_LOCK_H */
