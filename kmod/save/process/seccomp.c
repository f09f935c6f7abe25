// SPDX-License-Identifier: GPL-2.0-only
/*
 * restart/install_seccomp.c - seccomp: strict mode, and filters as the programs they were made from
 *
 * The kernel keeps the classic BPF program of each filter for checkpoints.  A task
 * that is killed drops its filters when it has left, or under, its siglock: they
 * stay while that is held.
 */
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/slab.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/layouts.h"
#include "compat/seccomp.h"
#include "lib/buf.h"
#include "lib/sighand.h"
#include "resources.h"
#include "save/process.h"

/* What a thread's filters take in the context. */
struct seccomp_extent {
	unsigned int filters;
	size_t bytes;
	const char *obstacle;
};

#ifdef CONFIG_SECCOMP_FILTER

static const struct sock_fprog_kern *program_of(const struct cryo_seccomp_copy *filter)
{
	const struct sock_fprog_kern *program = filter->prog->orig_prog;

	return program && program->len && program->len <= BPF_MAXINSNS ? program : NULL;
}

static const char *filter_obstacle(const struct cryo_seccomp_copy *filter)
{
	if (filter->notif)
		return "a seccomp filter with a listener (user notification)";
	if (!program_of(filter))
		return "a seccomp filter of which the kernel has not kept the program";
	return NULL;
}

static size_t size_of(const struct cryo_seccomp_copy *filter)
{
	return sizeof(struct cryo_seccomp_filter) +
	       program_of(filter)->len * sizeof(struct sock_filter);
}

/* With siglock held. */
static void measure_filters(struct task_struct *task, struct seccomp_extent *e)
{
	const struct cryo_seccomp_copy *filter = cryo_seccomp_newest(task);

	lockdep_assert_held(&task->sighand->siglock);
	if (filter && !cryo_layout_fits(CRYO_LAYOUT_SECCOMP)) {
		e->obstacle = "a seccomp filter, kept in an unknown way (cr_info --check),";
		return;
	}
	for (; filter && !e->obstacle; filter = filter->prev) {
		e->obstacle = filter_obstacle(filter);
		if (e->obstacle)
			break;
		e->filters++;
		e->bytes += size_of(filter);
	}
}

static void put_filter(u8 *to, const struct cryo_seccomp_copy *filter)
{
	const struct sock_fprog_kern *program = program_of(filter);
	struct cryo_seccomp_filter head = { .length = program->len };

	BUILD_BUG_ON(sizeof(*program->filter) != CRYO_SECCOMP_INSTRUCTION);
	if (filter->log)
		head.flags |= SECCOMP_FILTER_FLAG_LOG;
	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), program->filter, program->len * sizeof(*program->filter));
}

/*
 * With siglock held.  The chain leads from the newest to the oldest, and so do @keys; the buffer is
 * filled from its end, so that it has them as they were made.
 */
static int copy_filters(struct task_struct *task, u8 *buf, size_t left, const void **keys,
			unsigned int n)
{
	const struct cryo_seccomp_copy *filter;
	unsigned int i = 0;

	lockdep_assert_held(&task->sighand->siglock);
	for (filter = cryo_seccomp_newest(task); filter; filter = filter->prev) {
		if (i == n || filter_obstacle(filter) || size_of(filter) > left)
			return -ESRCH;
		keys[i++] = filter;
		left -= size_of(filter);
		put_filter(buf + left, filter);
	}
	/* They change only when the task dies. */
	return left || i < n ? -ESRCH : 0;
}

#else

static void measure_filters(struct task_struct *task, struct seccomp_extent *e)
{
}

static int copy_filters(struct task_struct *task, u8 *buf, size_t left, const void **keys,
			unsigned int n)
{
	return 0;
}

#endif

static int mode_of(struct task_struct *task)
{
#ifdef CONFIG_SECCOMP
	return READ_ONCE(task->seccomp.mode);
#else
	return 0;
#endif
}

static struct seccomp_extent measure_seccomp(struct task_struct *task)
{
	struct sighand_struct *sighand = cryo_lock_sighand(task);
	struct seccomp_extent e = {};

	if (!sighand)
		return e;
	measure_filters(task, &e);
	cryo_unlock_sighand(sighand);
	return e;
}

void cryo_check_seccomp(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task)
{
	struct seccomp_extent e = measure_seccomp(task);

	if (e.obstacle)
		cryo_refuse(c, p, "thread %d: %s is not supported", task_pid_vnr(task), e.obstacle);
}

/*
 * Threads share what one of them had when it made the others, and what it has given to all
 * (SECCOMP_FILTER_FLAG_TSYNC): the kernel asks for the very filters when that is done again. With
 * those that the thread is the first to have.
 */
static int find_shared(struct xarray *seen, const void **keys, unsigned int n, pid_t tid,
		       struct cryo_seccomp *head)
{
	unsigned int i;
	void *first;
	int err;

	for (i = 0; i < n; i++) {
		first = xa_load(seen, (unsigned long)keys[i]);
		if (first) {
			head->shared_with = xa_to_value(first);
			head->shared = n - i;
			return 0;
		}
		err = xa_err(xa_store(seen, (unsigned long)keys[i], xa_mk_value(tid),
				      GFP_KERNEL_ACCOUNT));
		if (err)
			return err;
	}
	return 0;
}

static int fill_filters(struct xarray *seen, struct task_struct *task, struct cryo_buf *buf,
			const struct seccomp_extent *e)
{
	const void **keys = kvcalloc(e->filters, sizeof(*keys), GFP_KERNEL_ACCOUNT);
	u8 *room = cryo_buf_add(buf, e->bytes);
	struct sighand_struct *sighand;
	int err = -ENOMEM;

	if (!keys || !room)
		goto free_keys;
	err = -ESRCH;
	sighand = cryo_lock_sighand(task);
	if (!sighand)
		goto free_keys;
	err = copy_filters(task, room, e->bytes, keys, e->filters);
	cryo_unlock_sighand(sighand);
	/* The keys are of filters that stay as long as the thread is parked. */
	err = err ?: find_shared(seen, keys, e->filters, task_pid_vnr(task), (void *)buf->data);
free_keys:
	kvfree(keys);
	return err;
}

static int save_seccomp(struct cryo_capture *c, struct cryo_proc *p, struct cryo_parked *t)
{
	struct task_struct *task = t->task;
	struct seccomp_extent e = measure_seccomp(task);
	struct cryo_seccomp head = { .mode = mode_of(task), .filters = e.filters };
	struct cryo_buf buf = {};
	int err;

	if (e.obstacle)
		return 0;
	if (head.mode != SECCOMP_MODE_STRICT && (head.mode != SECCOMP_MODE_FILTER || !e.filters))
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	err = e.filters ? fill_filters(&c->filters, task, &buf, &e) : 0;
	if (err) {
		cryo_buf_free(&buf);
		return err;
	}
	return cryo_stream_buf(&c->stream, CRYO_SEC_SECCOMP, task_pid_vnr(task), sizeof(head),
			       &buf);
}

const struct cryo_thread_resource cryo_thread_resource_seccomp = {
	.save = save_seccomp,
};
