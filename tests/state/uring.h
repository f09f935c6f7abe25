/* SPDX-License-Identifier: GPL-2.0-only */
/* uring.h - a ring of io_uring, by system calls alone */
#ifndef URING_H
#define URING_H

#include "crtest.h"
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Flags that the headers may not know yet. */
#define SETUP_SINGLE_ISSUER (1U << 12)
#define SETUP_DEFER_TASKRUN (1U << 13)

struct uring {
	int fd;
	unsigned int flags;
	unsigned int mask, *sq_head, *sq_tail, *sq_flags, *array, *cq_head, *cq_tail, cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

/* Those of SQE128 and CQE32 are two long. */
static inline struct io_uring_sqe *uring_sqe(const struct uring *r, unsigned int number)
{
	return &r->sqes[(number & r->mask) << !!(r->flags & IORING_SETUP_SQE128)];
}

static inline struct io_uring_cqe *uring_cqe(const struct uring *r, unsigned int number)
{
	return &r->cqes[(number & r->cq_mask) << !!(r->flags & IORING_SETUP_CQE32)];
}

/* Returns false when this machine has no io_uring, or no such ring, or switched it off. */
static inline bool uring_make_by(struct uring *r, unsigned int entries, struct io_uring_params p)
{
	size_t sq_size, cq_size;
	char *ring;

	r->flags = p.flags;
	r->fd = (int)syscall(SYS_io_uring_setup, entries, &p);
	if (r->fd < 0)
		return false;
	sq_size = p.sq_off.array + p.sq_entries * sizeof(*r->array);
	cq_size = p.cq_off.cqes + (p.cq_entries * sizeof(*r->cqes) << !!(r->flags & IORING_SETUP_CQE32));
	ring = CRT_MAP(mmap(NULL, sq_size > cq_size ? sq_size : cq_size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
			    IORING_OFF_SQ_RING));
	r->sqes = CRT_MAP(mmap(NULL, p.sq_entries * sizeof(*r->sqes) << !!(r->flags & IORING_SETUP_SQE128),
			       PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, IORING_OFF_SQES));
	r->mask = p.sq_entries - 1;
	r->cq_mask = p.cq_entries - 1;
	r->sq_head = (unsigned int *)(ring + p.sq_off.head);
	r->sq_tail = (unsigned int *)(ring + p.sq_off.tail);
	r->sq_flags = (unsigned int *)(ring + p.sq_off.flags);
	r->array = (unsigned int *)(ring + p.sq_off.array);
	r->cq_head = (unsigned int *)(ring + p.cq_off.head);
	r->cq_tail = (unsigned int *)(ring + p.cq_off.tail);
	r->cqes = (struct io_uring_cqe *)(ring + p.cq_off.cqes);
	return true;
}

static inline bool uring_make(struct uring *r, unsigned int entries, unsigned int flags)
{
	return uring_make_by(r, entries, (struct io_uring_params){ .flags = flags });
}

/* A request, not submitted yet. */
static inline struct io_uring_sqe *uring_add(struct uring *r, int op, int fd, void *data, unsigned int len, uint64_t user)
{
	unsigned int tail = *r->sq_tail, slot = tail & r->mask;
	struct io_uring_sqe *sqe = uring_sqe(r, slot);

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = (uint8_t)op;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)data;
	sqe->len = len;
	sqe->user_data = user;
	r->array[slot] = slot;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
	return sqe;
}

static inline int uring_enter(struct uring *r, unsigned int submit, unsigned int wait)
{
	return (int)syscall(SYS_io_uring_enter, r->fd, submit, wait, wait ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
}

/* Takes a completion. Returns its result, -ENOENT when there is none. */
static inline int uring_take(struct uring *r, uint64_t *user)
{
	unsigned int head = *r->cq_head;
	int result;

	*user = 0;
	if (head == __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE))
		return -ENOENT;
	*user = uring_cqe(r, head)->user_data;
	result = uring_cqe(r, head)->res;
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	return result;
}

/* Does the kernel's thread that submits (IORING_SETUP_SQPOLL) sleep? */
static inline bool uring_sleeps(const struct uring *r)
{
	return __atomic_load_n(r->sq_flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP;
}

/* It has something to do; waits for @wait completions. */
static inline int uring_wake(struct uring *r, unsigned int wait)
{
	unsigned int flags = wait ? IORING_ENTER_GETEVENTS : 0;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (uring_sleeps(r))
		flags |= IORING_ENTER_SQ_WAKEUP;
	return flags ? (int)syscall(SYS_io_uring_enter, r->fd, 0, wait, flags, NULL, 0) : 0;
}

#endif /* URING_H */
