// SPDX-License-Identifier: GPL-2.0-only
/*
 * save_uring.c - io_uring(7)
 *
 * A ring on which nothing is under way is its counters, what lies in the memory that it shares with the
 * program, and what is registered with it.  All that was submitted belongs to a task: when no task that has
 * ever used the ring has a request under way, none is.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "compat/io_uring.h"
#include "cryo.h"

bool cryo_is_uring(struct file *file)
{
	return file_inode(file)->i_sb->s_magic == ANON_INODE_FS_MAGIC &&
	       cryo_is_anon_file(file, "[io_uring]");
}

/* Has @task ever used a ring? */
bool cryo_uring_used(struct task_struct *task)
{
	return cryo_uring_of_task(task);
}

/* Is a request of @task under way, on whatever ring? */
bool cryo_uring_busy(struct task_struct *task)
{
	return cryo_uring_under_way(task);
}

void cryo_check_uring(struct cryo_capture *c, struct task_struct *task)
{
	int tid = task_pid_vnr(task);
	s64 n = cryo_uring_under_way(task);

	if (n)
		cryo_refuse(c, "thread %d: %lld requests of io_uring are under way", tid, n);
	if (cryo_uring_has_ring_fds(task))
		cryo_refuse(c, "thread %d: descriptors of rings that are registered (io_uring) are not supported",
			    tid);
	if (cryo_uring_task_restricted(task))
		cryo_refuse(c, "thread %d: restrictions of io_uring are not supported", tid);
}

static unsigned int users_in_context(struct cryo_capture *c, struct io_ring_ctx *ctx)
{
	struct cryo_parked *t;
	struct cryo_proc *p;
	unsigned int n = 0;

	cryo_for_each_proc(p, c->req)
		for (t = cryo_next_thread(p, NULL); t; t = cryo_next_thread(p, t))
			n += cryo_uring_uses(t->task, ctx);
	return n;
}

/* With ctx->uring_lock: what a restart would not bring back, or NULL. */
static const char *uring_obstacle(struct cryo_capture *c, struct io_ring_ctx *ctx)
{
	if (cryo_uring_users(ctx) != users_in_context(c, ctx))
		return "a ring that a process uses that is left out";
	if (ctx->flags & IORING_SETUP_SQPOLL)
		return "a thread of the kernel that submits (IORING_SETUP_SQPOLL)";
	if (ctx->flags & ~CRYO_URING_FLAGS)
		return "a ring set up with other flags";
	if (cryo_uring_compat(ctx))
		return "a ring of a 32-bit program";
	if (cryo_uring_has_work(ctx) || !list_empty(&ctx->cq_overflow_list) || ctx->check_cq)
		return "a ring with completions that it had no room for";
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
	return NULL;
}

/* The file of the eventfd that hears of completions; NULL: none in the context is. */
static struct cryo_object *find_eventfd(struct cryo_capture *c, const struct eventfd_ctx *wanted)
{
	struct cryo_object *o;

	list_for_each_entry(o, &c->files, node) {
		struct eventfd_ctx *ctx = eventfd_ctx_fileget(o->file);

		if (IS_ERR(ctx))
			continue;
		eventfd_ctx_put(ctx);
		if (ctx == wanted)
			return o;
	}
	return NULL;
}

static void save_eventfd(struct cryo_capture *c, struct cryo_object *o, struct cryo_uring *out)
{
	struct io_ring_ctx *ctx = o->file->private_data;
	const struct cryo_io_ev_fd *registered = cryo_uring_eventfd(ctx);
	struct cryo_object *eventfd;

	if (!registered)
		return;
	eventfd = find_eventfd(c, registered->ctx);
	if (!eventfd) {
		cryo_refuse(c, "fd %d (io_uring): its eventfd is not open in the context any more",
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

/* With ctx->uring_lock. What is shared with programs is copied as it is. */
static void save_ring(struct cryo_capture *c, struct cryo_object *o, struct cryo_buf *buf)
{
	struct io_ring_ctx *ctx = o->file->private_data;
	struct cryo_uring out = {
		.flags = ctx->flags,
		.sq_entries = ctx->sq_entries,
		.cq_entries = ctx->cq_entries,
	};
	size_t sqe = sizeof(struct io_uring_sqe) << !!(ctx->flags & IORING_SETUP_SQE128);
	size_t cqe = sizeof(struct io_uring_cqe) << !!(ctx->flags & IORING_SETUP_CQE32);

	save_eventfd(c, o, &out);
	save_layout(ctx, &out);
	save_counters(ctx, &out);
	cryo_buf_put(buf, &out, sizeof(out));
	cryo_buf_put(buf, ctx->rings->cqes, out.cq_entries * cqe);
	if (ctx->sq_array)
		cryo_buf_put(buf, ctx->sq_array, out.sq_entries * sizeof(u32));
	cryo_buf_put(buf, ctx->sq_sqes, out.sq_entries * sqe);
}

int cryo_save_uring(struct cryo_capture *c, struct cryo_object *o)
{
	struct io_ring_ctx *ctx = o->file->private_data;
	struct cryo_buf buf = {};
	const char *obstacle;

	if (mutex_lock_killable(&ctx->uring_lock))
		return -EINTR;
	obstacle = uring_obstacle(c, ctx);
	if (obstacle)
		cryo_refuse(c, "fd %d (io_uring): %s is not supported", o->fd, obstacle);
	else
		save_ring(c, o, &buf);
	mutex_unlock(&ctx->uring_lock);
	return obstacle ? 0 : cryo_stream_buf(&c->stream, CRYO_SEC_URING, o->id,
					      sizeof(struct cryo_uring), &buf);
}
