// SPDX-License-Identifier: GPL-2.0-only
/*
 * uring.c - io_uring(7)
 *
 * A ring on which nothing is under way is its counters, what lies in the memory that it shares with
 * the program, and what is registered with it. All that was submitted belongs to a task: when no
 * task that has ever used the ring has a request under way, none is. Tasks are threads of the
 * context and, for rings with IORING_SETUP_SQPOLL, threads of the kernel that are parked, too
 * (freeze.c).
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "compat/io_uring.h"
#include "lib/buf.h"
#include "paths/fdinfo.h"
#include "resources.h"
#include "save/files/uring.h"
#include "save/process.h"

bool cryo_is_uring(struct file *file)
{
	return cryo_is_anon_file(file, "[io_uring]");
}

bool cryo_is_poller(struct task_struct *task)
{
	return cryo_uring_is_poller(task);
}

bool cryo_uring_busy(struct task_struct *task)
{
	return cryo_uring_under_way(task);
}

void cryo_check_uring(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task)
{
	int tid = task_pid_vnr(task);
	s64 n = cryo_uring_under_way(task);

	if (n)
		cryo_refuse(c, p, "thread %d: %lld requests of io_uring are under way", tid, n);
	if (cryo_uring_has_ring_fds(task))
		cryo_refuse(c, p, "thread %d: descriptors of rings that are registered (io_uring) are not supported",
			    tid);
	if (cryo_uring_task_restricted(task))
		cryo_refuse(c, p, "thread %d: restrictions of io_uring are not supported", tid);
}

static bool is_in_context(struct task_struct *task, void *arg)
{
	struct cryo_capture *c = arg;
	struct cryo_parked *p = cryo_find_parked(c->req, task);

	return p && !p->poller && READ_ONCE(p->state) != CRYO_PARK_GONE;
}

/*
 * Its process, when that and no other is going to have it again; NULL: it is gone, or not in the
 * context.
 */
static struct cryo_parked *find_poller(struct cryo_capture *c, const struct cryo_sq_data *data)
{
	struct cryo_parked *p = cryo_find_parked(c->req, READ_ONCE(data->thread));

	return p && p->poller && READ_ONCE(p->state) != CRYO_PARK_GONE ? p : NULL;
}

/*
 * The tables that the thread of the kernel got when it was made are those of all of its process,
 * and of no other.
 */
static bool has_same_tables(struct cryo_capture *c, struct cryo_parked *poller)
{
	struct task_struct *task = poller->proc->task;

	/* Threads with descriptors of their own are refused anyway. */
	return !poller->proc->own_directories &&
	       READ_ONCE(task->files) == READ_ONCE(poller->task->files) &&
	       READ_ONCE(task->fs) == READ_ONCE(poller->task->fs) &&
	       cryo_is_only_sharer(c, CRYO_SHARED_FS, poller->proc);
}

/* The same of the thread of the kernel that submits. */
static const char *poller_obstacle(struct cryo_capture *c, struct cryo_object *o,
				   struct io_ring_ctx *ctx)
{
	const struct cryo_sq_data *data = cryo_uring_sq_data(ctx);
	struct cryo_parked *poller;

	if (!data)
		return "a polled ring (IORING_SETUP_SQPOLL) that shares its thread with another";
	poller = find_poller(c, data);
	if (!poller || poller->proc != o->proc)
		return "a polled ring (IORING_SETUP_SQPOLL) whose thread is not one of its process";
	if (o->fd < 0)
		return "a polled ring (IORING_SETUP_SQPOLL) that is mapped, but not open";
	if (o->several)
		return "a polled ring (IORING_SETUP_SQPOLL) that several processes have";
	if (!has_same_tables(c, poller))
		return "a polled ring (IORING_SETUP_SQPOLL) whose thread has tables of its own";
	return NULL;
}

/* The only task that may submit, if it still lives and can. */
static struct task_struct *issuer_of(struct io_ring_ctx *ctx)
{
	struct task_struct *task = READ_ONCE(ctx->submitter_task);

	return task && !(READ_ONCE(task->flags) & PF_EXITING) ? task : NULL;
}

/* With ctx->uring_lock: what a restart would not bring back, or NULL. */
static const char *uring_obstacle(struct cryo_capture *c, struct cryo_object *o,
				  struct io_ring_ctx *ctx)
{
	struct task_struct *issuer = issuer_of(ctx);

	lockdep_assert_held(&ctx->uring_lock);
	if (!cryo_uring_users_are(ctx, is_in_context, c) ||
	    (issuer && !cryo_find_parked(c->req, issuer)))
		return "a ring that a process outside the checkpoint uses";
	if (ctx->flags & ~(CRYO_URING_FLAGS | IORING_SETUP_ATTACH_WQ))
		return "a ring set up with other flags";
	if (cryo_uring_compat(ctx))
		return "a ring of a 32-bit program";
	if (cryo_uring_has_work(ctx) || !list_empty(&ctx->cq_overflow_list) || ctx->check_cq)
		return "a ring with overflowed completions";
	if (cryo_uring_has_files(ctx))
		return "a ring with registered files";
	if (cryo_uring_has_buffers(ctx) || cryo_uring_has_buffer_groups(ctx))
		return "a ring with registered or provided buffers";
	if (!xa_empty(&ctx->personalities))
		return "a ring with registered credentials";
	if (cryo_uring_restricted(ctx))
		return "a ring with restrictions";
	if (cryo_uring_limits_workers(ctx) || cryo_uring_has_clock(ctx) ||
	    cryo_uring_has_napi(ctx) || cryo_uring_has_regions(ctx))
		return "a ring with a registered clock, memory, limit of workers or busy polling";
	return ctx->flags & IORING_SETUP_SQPOLL ? poller_obstacle(c, o, ctx) : NULL;
}

/* Those that a ring may be registered with: once, as there may be many of both. */
static int find_eventfds(struct cryo_capture *c)
{
	struct eventfd_ctx *ctx;
	struct cryo_object *o;
	int err = 0;

	if (c->eventfds_found)
		return 0;
	c->eventfds_found = true;
	list_for_each_entry(o, &c->files, node) {
		if (o->kind == CRYO_FILE_EVENTFD) {
			ctx = eventfd_ctx_fileget(o->file);
			err = xa_err(xa_store(&c->eventfds, cryo_index_of(ctx), o,
					      GFP_KERNEL_ACCOUNT));
			eventfd_ctx_put(ctx);
		}
		err = err ?: cryo_capture_interrupted(c);
		if (err)
			break;
	}
	return err;
}

static void note_eventfd(struct cryo_capture *c, struct cryo_object *o, struct cryo_uring *out)
{
	struct io_ring_ctx *ctx = o->file->private_data;
	const struct cryo_io_ev_fd *registered = cryo_uring_eventfd(ctx);
	struct cryo_object *eventfd;

	if (!registered)
		return;
	eventfd = xa_load(&c->eventfds, cryo_index_of(registered->ctx));
	if (!eventfd) {
		cryo_refuse(c, o->proc, "fd %d (io_uring): its eventfd is not open in the context any more",
			    o->fd);
		return;
	}
	out->eventfd = eventfd->id;
	out->eventfd_async = registered->async;
}

/* Where a program finds things in the memory of a ring. */
static void save_layout(struct io_ring_ctx *ctx, struct cryo_uring *out)
{
	const u32 sq[] = {
		offsetof(struct io_rings, sq.head), offsetof(struct io_rings, sq.tail),
		offsetof(struct io_rings, sq_ring_mask), offsetof(struct io_rings, sq_ring_entries),
		offsetof(struct io_rings, sq_flags), offsetof(struct io_rings, sq_dropped),
		ctx->sq_array ? (u8 *)ctx->sq_array - (u8 *)ctx->rings : 0,
	};
	const u32 cq[] = {
		offsetof(struct io_rings, cq.head), offsetof(struct io_rings, cq.tail),
		offsetof(struct io_rings, cq_ring_mask), offsetof(struct io_rings, cq_ring_entries),
		offsetof(struct io_rings, cq_overflow), offsetof(struct io_rings, cqes),
		offsetof(struct io_rings, cq_flags),
	};

	BUILD_BUG_ON(sizeof(sq) != sizeof(out->sq_offsets));
	BUILD_BUG_ON(sizeof(cq) != sizeof(out->cq_offsets));
	memcpy(out->sq_offsets, sq, sizeof(sq));
	memcpy(out->cq_offsets, cq, sizeof(cq));
}

static void save_counters(struct io_ring_ctx *ctx, struct cryo_uring *out)
{
	const struct io_rings *rings = ctx->rings;

	spin_lock(&ctx->completion_lock);
	out->sq_head = ctx->cached_sq_head;
	out->cq_tail = ctx->cached_cq_tail;
	spin_unlock(&ctx->completion_lock);
	out->sq_tail = READ_ONCE(rings->sq.tail);
	out->cq_head = READ_ONCE(rings->cq.head);
	out->sq_dropped = READ_ONCE(rings->sq_dropped);
	out->cq_overflow = READ_ONCE(rings->cq_overflow);
	out->cq_flags = READ_ONCE(rings->cq_flags);
}

/* Who submits. */
static void save_issuers(struct io_ring_ctx *ctx, struct cryo_uring *out)
{
	struct task_struct *issuer = issuer_of(ctx);

	if (issuer)
		out->issuer = task_pid_vnr(issuer);
	if (!(ctx->flags & IORING_SETUP_SQPOLL))
		return;
	out->sq_idle_ms = jiffies_to_msecs(ctx->sq_thread_idle);
	if (ctx->flags & IORING_SETUP_SQ_AFF)
		out->sq_cpu = READ_ONCE(cryo_uring_sq_data(ctx)->sq_cpu);
}

/* With ctx->uring_lock. What is shared with programs is copied as it is. */
static void save_ring(struct cryo_capture *c, struct cryo_object *o, struct cryo_buf *buf)
{
	struct io_ring_ctx *ctx = o->file->private_data;
	struct cryo_uring out = {
		/* It has its own thread, or none: there is nothing left of that. */
		.flags = ctx->flags & ~IORING_SETUP_ATTACH_WQ,
		.sq_entries = ctx->sq_entries,
		.cq_entries = ctx->cq_entries,
	};
	size_t sqe = sizeof(struct io_uring_sqe) << !!(ctx->flags & IORING_SETUP_SQE128);
	size_t cqe = sizeof(struct io_uring_cqe) << !!(ctx->flags & IORING_SETUP_CQE32);

	lockdep_assert_held(&ctx->uring_lock);
	note_eventfd(c, o, &out);
	save_issuers(ctx, &out);
	save_layout(ctx, &out);
	save_counters(ctx, &out);
	cryo_buf_put(buf, &out, sizeof(out));
	cryo_buf_put(buf, ctx->rings->cqes, out.cq_entries * cqe);
	if (ctx->sq_array)
		cryo_buf_put(buf, ctx->sq_array, out.sq_entries * sizeof(u32));
	cryo_buf_put(buf, ctx->sq_sqes, out.sq_entries * sqe);
}

static int save_uring(struct cryo_capture *c, struct cryo_object *o)
{
	struct io_ring_ctx *ctx = o->file->private_data;
	struct cryo_buf buf = {};
	const char *obstacle;
	int err;

	/*
	 * Who is left out and has it, too, holds the lock while it copies what is submitted from
	 * its memory.
	 */
	err = find_eventfds(c) ?: cryo_busy_mutex_lock(c, o, &ctx->uring_lock, "io_uring");
	if (err)
		return err;
	obstacle = uring_obstacle(c, o, ctx);
	if (obstacle && o->fd >= 0)
		cryo_refuse(c, o->proc, "fd %d (io_uring): %s is not supported", o->fd, obstacle);
	else if (obstacle)
		cryo_refuse(c, o->proc, "memory at %lx (io_uring): %s is not supported",
			    o->vma_start, obstacle);
	else
		save_ring(c, o, &buf);
	mutex_unlock(&ctx->uring_lock);
	return obstacle ? 0 : cryo_stream_buf(&c->stream, CRYO_SEC_URING, o->id,
					      sizeof(struct cryo_uring), &buf);
}

const struct cryo_file_kind cryo_file_kind_uring = {
	.kind = CRYO_FILE_URING,
	.needs = CRYO_NEEDS_LAYOUT(URING),
	.is = cryo_is_uring,
	.save = save_uring,
};
