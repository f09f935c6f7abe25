// SPDX-License-Identifier: GPL-2.0-only
/* signal.c - signal actions and pending signals */
#include <linux/sched/signal.h>
#include <linux/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/posix_timers.h"
#include "lib/buf.h"
#include "lib/sighand.h"
#include "resources.h"
#include "save/process.h"
#include "save/process/requester.h"

static u64 mask_of(const sigset_t *set)
{
	u64 mask;

	BUILD_BUG_ON(sizeof(*set) != sizeof(mask));
	memcpy(&mask, set, sizeof(mask));
	return mask;
}

static int save_sigactions(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_array head = { _NSIG, sizeof(struct cryo_sigaction) };
	struct sighand_struct *sighand;
	struct cryo_sigaction *out;
	struct cryo_buf buf = {};
	int i;

	cryo_buf_put(&buf, &head, sizeof(head));
	out = cryo_buf_add(&buf, _NSIG * sizeof(*out));
	sighand = out ? cryo_lock_sighand(p->task) : NULL;
	for (i = 0; sighand && i < _NSIG; i++) {
		const struct sigaction *sa = &sighand->action[i].sa;

		out[i].handler = (unsigned long)sa->sa_handler;
		out[i].flags = sa->sa_flags;
#ifdef SA_RESTORER
		out[i].restorer = (unsigned long)sa->sa_restorer;
#endif
		out[i].mask = mask_of(&sa->sa_mask);
	}
	if (sighand)
		cryo_unlock_sighand(sighand);
	else if (!buf.error)
		buf.error = -ESRCH;
	return cryo_stream_buf(&c->stream, CRYO_SEC_SIGACTIONS, p->pid, sizeof(head), &buf);
}

static u64 bit_of(const struct sigqueue *q)
{
	return 1ULL << (q->info.si_signo - 1);
}

/*
 * Signals that are pending; not those that will turn out, when they are taken, to be of a dead
 * timer.
 */
static unsigned int count_queue(struct sigpending *pending, u64 *signals)
{
	struct sigqueue *q;
	u64 queued = 0, void_ones = 0;
	unsigned int n = 0;

	list_for_each_entry(q, &pending->list, list) {
		if (cryo_sigqueue_void(q)) {
			void_ones |= bit_of(q);
		} else {
			queued |= bit_of(q);
			n++;
		}
	}
	*signals = mask_of(&pending->signal) & ~(void_ones & ~queued);
	return n;
}

/* With siglock held. False: more records than there is room for, see head->count. */
static bool copy_queue(struct sigpending *pending, kernel_siginfo_t *out,
		       struct cryo_sigpending *head)
{
	unsigned int n = count_queue(pending, &head->signals);
	bool fits = n <= head->count;
	struct sigqueue *q;

	head->count = n;
	if (!fits)
		return false;
	list_for_each_entry(q, &pending->list, list)
		if (!cryo_sigqueue_void(q))
			copy_siginfo(out++, &q->info);
	return true;
}

static int pending_snapshot(struct task_struct *task, bool shared, kernel_siginfo_t **infos,
			    struct cryo_sigpending *head)
{
	struct sighand_struct *sighand;
	struct sigpending *pending;
	unsigned int room = 0;
	bool done = false;

	*infos = NULL;
	while (!done) {
		head->count = room;
		sighand = cryo_lock_sighand(task);
		if (!sighand)
			return -ESRCH;
		pending = shared ? &task->signal->shared_pending : &task->pending;
		done = copy_queue(pending, *infos, head);
		cryo_unlock_sighand(sighand);
		if (done)
			break;
		kvfree(*infos);
		/* Senders do not stop for us: leave room for some more. */
		room = head->count + 16;
		*infos = kvmalloc_array(room, sizeof(**infos), GFP_KERNEL_ACCOUNT);
		if (!*infos)
			return -ENOMEM;
	}
	return 0;
}

static void put_info(struct cryo_buf *buf, const kernel_siginfo_t *info)
{
	u8 *record = cryo_buf_add(buf, CRYO_SIGINFO_SIZE);

	if (record)
		memcpy(record, info, sizeof(*info));
}

/* Pending signals of the process (@shared) or of the thread @task, in the order they were sent. */
static int save_sigpending(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task,
			   bool shared)
{
	struct cryo_sigpending head = {
		.record_size = CRYO_SIGINFO_SIZE,
		.flags = shared ? CRYO_SIGPENDING_SHARED : 0,
	};
	kernel_siginfo_t *infos, of_requester;
	unsigned int i, pending;
	struct cryo_buf buf = {};
	int err, more;

	BUILD_BUG_ON(sizeof(kernel_siginfo_t) > CRYO_SIGINFO_SIZE);
	err = pending_snapshot(task, shared, &infos, &head);
	pending = head.count;
	more = shared ? cryo_requester_signal(c, p, &of_requester) : 0;
	/* Several of the same are one, but for real-time signals, which do not tell of a child. */
	if (more && head.signals & 1ULL << (more - 1))
		more = 0;
	if (more) {
		head.signals |= 1ULL << (more - 1);
		head.count++;
	}
	if (!err && (head.count || head.signals)) {
		cryo_buf_put(&buf, &head, sizeof(head));
		for (i = 0; i < pending; i++)
			put_info(&buf, &infos[i]);
		if (more)
			put_info(&buf, &of_requester);
		err = cryo_stream_buf(&c->stream, CRYO_SEC_SIGPENDING,
				      shared ? p->pid : task_pid_vnr(task), sizeof(head),
				      &buf);
	}
	kvfree(infos);
	return err;
}

static int save_shared_pending(struct cryo_capture *c, struct cryo_proc *p)
{
	return save_sigpending(c, p, p->task, true);
}

static int save_own_pending(struct cryo_capture *c, struct cryo_proc *p, struct cryo_parked *t)
{
	return save_sigpending(c, p, t->task, false);
}

const struct cryo_resource cryo_resource_sigactions = {
	.save = save_sigactions,
};

const struct cryo_resource cryo_resource_sigpending = {
	.save = save_shared_pending,
};

const struct cryo_thread_resource cryo_thread_resource_sigpending = {
	.save = save_own_pending,
};
