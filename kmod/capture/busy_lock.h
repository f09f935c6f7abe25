/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * busy_lock.h - locks that other processes may hold indefinitely
 *
 * Pipe, socket, epoll, ring and terminal locks are held across copies from or to user memory, which
 * may be backed by FUSE or userfaultfd, or are waited for by a holder of such a lock. A process
 * outside the job that shares such a file with it, or sent it to the job, can thereby block anyone
 * who wants the lock; and the kernel's own functions wait for it uninterruptibly. The same goes for
 * a work item that takes such a lock.
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
 * Return: 0, or a negative errno: the log names the descriptor of @o and what is held.
 */
int cryo_busy_mutex_lock(struct cryo_capture *c, struct cryo_object *o, struct mutex *lock,
			 const char *what);

/**
 * cryo_busy_read_lock() - down_read(), likewise
 * @c: the capture
 * @o: the open file; NULL: nothing is logged
 * @lock: the lock
 * @what: that is, for the log
 *
 * Return: 0, or a negative errno: the log names the descriptor of @o and what is held.
 */
int cryo_busy_read_lock(struct cryo_capture *c, struct cryo_object *o, struct rw_semaphore *lock,
			const char *what);

/**
 * cryo_mmap_read_lock() - take mmap_lock of another process for reading
 * @req: the request, in its worker
 * @mm: the memory
 *
 * Others may hold it while a page fault waits for a FUSE or userfaultfd server, or queue for it and
 * block later readers. So the wait lasts as long as the request has time, and no waiter is killed
 * for it: only SIGKILL wakes a waiter of such a lock.
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
 * Return: 0, or a negative errno: the log names the descriptor of @o and what is held.
 */
int cryo_busy_work(struct cryo_capture *c, struct cryo_object *o, struct work_struct *work,
		   const char *what);

/**
 * cryo_sock_lock() - lock_sock(), likewise
 * @c: the capture
 * @o: the socket, or its peer
 * @sk: the socket
 *
 * Return: 0, or a negative errno: the log names the descriptor of @o and what is held.
 */
int cryo_sock_lock(struct cryo_capture *c, struct cryo_object *o, struct sock *sk);

/**
 * cryo_sock_unlock() - release_sock()
 * @sk: a socket that cryo_sock_lock() has locked
 */
void cryo_sock_unlock(struct sock *sk);

#endif /* CRYO_BUSY_LOCK_H */
