/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * linux/io_uring_types.h: rings of several generations. The structures are in a header, but private
 * to io_uring/; no call tells whether requests are under way, nor what is registered.
 */
#ifndef CRYO_COMPAT_IO_URING_H
#define CRYO_COMPAT_IO_URING_H

#include <linux/eventfd.h>
#include <linux/io_uring.h>
#include <linux/io_uring_types.h>
#include <linux/magic.h>
#include <linux/percpu_counter.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <linux/xarray.h>

static inline struct io_uring_task *cryo_uring_of_task(struct task_struct *task)
{
#ifdef CONFIG_IO_URING
	return task->io_uring;
#else
	return NULL;
#endif
}

/*
 * Requests that @task, parked or current, has submitted to any ring and that have not been freed:
 * each takes a reference, of which the task keeps some in store. Each belongs to a task that lives.
 */
static inline s64 cryo_uring_under_way(struct task_struct *task)
{
	struct io_uring_task *tctx = cryo_uring_of_task(task);

	return tctx ? percpu_counter_sum(&tctx->inflight) - READ_ONCE(tctx->cached_refs) : 0;
}

/*
 * IORING_SETUP_SQPOLL: a thread of the kernel that submits. Its workers have no rings of their own.
 */
static inline bool cryo_uring_is_poller(struct task_struct *task)
{
	return task->flags & PF_IO_WORKER && cryo_uring_of_task(task);
}

/*
 * The private struct io_sq_data, from its list of rings up to what is of interest: the same since
 * v5.12.
 */
struct cryo_sq_data {
	struct list_head ctx_list;
	struct task_struct *thread;
	struct wait_queue_head wait;
	unsigned int sq_thread_idle;
	int sq_cpu;
};

/* Of a ring that is polled; NULL: others are by the same thread. What is found in it may change. */
static inline const struct cryo_sq_data *cryo_uring_sq_data(struct io_ring_ctx *ctx)
{
	struct list_head *head = READ_ONCE(ctx->sqd_list.next);

	if (head == &ctx->sqd_list || head != READ_ONCE(ctx->sqd_list.prev))
		return NULL;
	return container_of(head, struct cryo_sq_data, ctx_list);
}

/* IORING_REGISTER_RING_FDS */
static inline bool cryo_uring_has_ring_fds(struct task_struct *task)
{
	struct io_uring_task *tctx = cryo_uring_of_task(task);
	unsigned int i;

	for (i = 0; tctx && i < IO_RINGFD_REG_MAX; i++)
		if (READ_ONCE(tctx->registered_rings[i]))
			return true;
	return false;
}

/* Restrictions of the task itself, for the rings that it is going to make: since v7.1. */
static inline bool cryo_uring_task_restricted(struct task_struct *task)
{
#if defined(CONFIG_IO_URING) && LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
	return task->io_uring_restrict;
#else
	return false;
#endif
}

/*
 * The private struct io_tctx_node, of a task that has submitted to a ring, or made it, and lives:
 * the same since v5.12.
 */
struct cryo_tctx_node {
	struct list_head ctx_node;
	struct task_struct *task;
};

/*
 * With ctx->uring_lock: are all of them such that @fn says so? Compared only: they are not counted.
 */
static inline bool cryo_uring_users_are(struct io_ring_ctx *ctx,
					bool (*fn)(struct task_struct *task, void *arg), void *arg)
{
	struct cryo_tctx_node *node;
	bool are = true;

	lockdep_assert_held(&ctx->uring_lock);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	mutex_lock(&ctx->tctx_lock);
#endif
	list_for_each_entry(node, &ctx->tctx_list, ctx_node) {
		are = fn(node->task, arg);
		if (!are)
			break;
	}
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	mutex_unlock(&ctx->tctx_lock);
#endif
	return are;
}

/* One word of flags since v7.1, bits of their own before. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
static inline bool cryo_uring_restricted(struct io_ring_ctx *ctx)
{
	const unsigned int restricted = IO_RING_F_OP_RESTRICTED | IO_RING_F_REG_RESTRICTED;

	return ctx->int_flags & restricted || ctx->bpf_ops;
}

static inline bool cryo_uring_compat(struct io_ring_ctx *ctx)
{
	return ctx->int_flags & IO_RING_F_COMPAT;
}

static inline bool cryo_uring_limits_workers(struct io_ring_ctx *ctx)
{
	return ctx->int_flags & IO_RING_F_IOWQ_LIMITS_SET;
}

static inline bool cryo_uring_has_work(struct io_ring_ctx *ctx)
{
	return READ_ONCE(ctx->work_list.tail) != &ctx->work_list.stub;
}
#else
static inline bool cryo_uring_restricted(struct io_ring_ctx *ctx)
{
	return ctx->restricted;
}

static inline bool cryo_uring_compat(struct io_ring_ctx *ctx)
{
	return ctx->compat;
}

static inline bool cryo_uring_limits_workers(struct io_ring_ctx *ctx)
{
	return ctx->iowq_limits_set;
}

static inline bool cryo_uring_has_work(struct io_ring_ctx *ctx)
{
	return !llist_empty(&ctx->work_llist) || !llist_empty(&ctx->fallback_llist);
}
#endif

/* Tables of files and buffers: one type for both since v6.13 3597f2786b68. */
static inline bool cryo_uring_has_files(struct io_ring_ctx *ctx)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	return ctx->file_table.data.nr;
#else
	return ctx->nr_user_files || ctx->file_data;
#endif
}

static inline bool cryo_uring_has_buffers(struct io_ring_ctx *ctx)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	return ctx->buf_table.nr;
#else
	return ctx->nr_user_bufs || ctx->buf_data;
#endif
}

/* Provided ones: the first groups had an array of their own up to v6.7. */
static inline bool cryo_uring_has_buffer_groups(struct io_ring_ctx *ctx)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	if (ctx->io_bl)
		return true;
#endif
	return !xa_empty(&ctx->io_bl_xa);
}

/* IORING_REGISTER_CLOCK, since v6.12. */
static inline bool cryo_uring_has_clock(struct io_ring_ctx *ctx)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	return ctx->clockid != CLOCK_MONOTONIC;
#else
	return false;
#endif
}

/* IORING_REGISTER_NAPI, since v6.9. */
static inline bool cryo_uring_has_napi(struct io_ring_ctx *ctx)
{
#if !defined(CONFIG_NET_RX_BUSY_POLL) || LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
	return false;
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	return ctx->napi_track_mode != IO_URING_NAPI_TRACKING_INACTIVE;
#else
	return ctx->napi_enabled;
#endif
}

/* IORING_REGISTER_MEM_REGION, IORING_REGISTER_ZCRX_IFQ: since v6.13 and v6.15. */
static inline bool cryo_uring_has_regions(struct io_ring_ctx *ctx)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	return ctx->param_region.nr_pages || !xa_empty(&ctx->zcrx_ctxs);
#else
	return false;
#endif
}

/* The beginning of the private structure, the same since v5.18. */
struct cryo_io_ev_fd {
	struct eventfd_ctx *ctx;
	unsigned int async:1;
};

/* With ctx->uring_lock. NULL: none is registered. */
static inline const struct cryo_io_ev_fd *cryo_uring_eventfd(struct io_ring_ctx *ctx)
{
	lockdep_assert_held(&ctx->uring_lock);
	return (const void *)rcu_dereference_protected(ctx->io_ev_fd,
						       lockdep_is_held(&ctx->uring_lock));
}

/*
 * Go on counting where another ring, on which nothing is under way, has stopped. With
 * ctx->uring_lock and ctx->completion_lock.
 */
static inline void cryo_uring_set_counters(struct io_ring_ctx *ctx, u32 sq_head, u32 cq_tail)
{
	lockdep_assert_held(&ctx->uring_lock);
	ctx->cached_sq_head = sq_head;
	ctx->cached_cq_tail = cq_tail;
	ctx->cq_last_tm_flush = cq_tail;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
	/* What IOSQE_IO_DRAIN compares: completions so far are submissions so far and this. */
	ctx->cq_extra = cq_tail - sq_head;
#endif
}

#endif
