// SPDX-License-Identifier: GPL-2.0-only
/*
 * sharing.c - memory and signal handlers that processes have in common without being threads of one
 * another (CLONE_VM, CLONE_SIGHAND)
 *
 * The first process of the context that has an address space brings it along, and the others name
 * it. No call gives a process the memory of another: clone(2) alone makes them share. So each of
 * them has to be the child, or have the same parent, as another one (CLONE_PARENT).
 */
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sort.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "lib/buf.h"
#include "lib/locked_task.h"
#include "resources.h"
#include "save/process.h"

typedef bool (*same_fn)(struct task_struct *a, struct task_struct *b);

/* Compared only, all of them: none is followed. */
static bool same_mm(struct task_struct *a, struct task_struct *b)
{
	return READ_ONCE(a->mm) && READ_ONCE(a->mm) == READ_ONCE(b->mm);
}

static bool same_sighand(struct task_struct *a, struct task_struct *b)
{
	return rcu_access_pointer(a->sighand) &&
	       rcu_access_pointer(a->sighand) == rcu_access_pointer(b->sighand);
}

bool cryo_proc_is_saved(struct cryo_proc *p)
{
	return p->task && !p->zombie && !p->gone && !p->omitted;
}

static const void *shared_key(struct task_struct *task, enum cryo_shared what)
{
	switch (what) {
	case CRYO_SHARED_MM:
		return READ_ONCE(task->mm);
	case CRYO_SHARED_SIGHAND:
		return rcu_access_pointer(task->sighand);
	case CRYO_SHARED_FILES:
		return READ_ONCE(task->files);
	case CRYO_SHARED_UNDO:
		return cryo_semundo_key(task);
	default:
		return READ_ONCE(task->fs);
	}
}

/*
 * Of a process of the context. A list of adjustments in which there are none can be had in common,
 * or not.
 */
static const void *saved_key(struct task_struct *task, enum cryo_shared what)
{
	return what == CRYO_SHARED_UNDO && !cryo_has_undo(task) ? NULL : shared_key(task, what);
}

static int compare_sharers(const void *a, const void *b)
{
	const struct cryo_sharer *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int find_sharers_of(struct cryo_capture *c, enum cryo_shared what)
{
	struct cryo_buf *buf = &c->sharers[what];
	struct cryo_sharer out = {};
	struct cryo_proc *p;

	cryo_for_each_proc(p, c->req) {
		out.order++;
		if (!cryo_proc_is_saved(p))
			continue;
		out.key = saved_key(p->task, what);
		out.proc = p;
		cryo_buf_put(buf, &out, sizeof(out));
	}
	sort(buf->data, buf->len / sizeof(out), sizeof(out), compare_sharers, NULL);
	return buf->error;
}

int cryo_find_sharers(struct cryo_capture *c)
{
	enum cryo_shared what;
	int err = 0;

	BUILD_BUG_ON(ARRAY_SIZE(c->sharers) != CRYO_NR_SHARED);
	for (what = 0; !err && what < CRYO_NR_SHARED; what++)
		err = find_sharers_of(c, what) ?: cryo_capture_interrupted(c);
	return err;
}

/* The first one with that @key, or NULL. */
static struct cryo_sharer *first_with_key(struct cryo_capture *c, enum cryo_shared what,
					  const void *key)
{
	struct cryo_sharer *all = (void *)c->sharers[what].data;
	size_t low = 0, count = c->sharers[what].len / sizeof(*all), high = count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (all[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return key && low < count && all[low].key == key ? &all[low] : NULL;
}

struct cryo_sharer *cryo_sharers_with(struct cryo_capture *c, enum cryo_shared what,
				      struct task_struct *task)
{
	return first_with_key(c, what, shared_key(task, what));
}

static bool is_last(struct cryo_capture *c, enum cryo_shared what, const struct cryo_sharer *s)
{
	return (const u8 *)(s + 1) == (const u8 *)c->sharers[what].data + c->sharers[what].len;
}

/* No other process of the context has the same as @p. */
bool cryo_is_only_sharer(struct cryo_capture *c, enum cryo_shared what, struct cryo_proc *p)
{
	struct cryo_sharer *first = first_with_key(c, what, saved_key(p->task, what));

	return !first || is_last(c, what, first) || first[1].key != first->key;
}

/*
 * Nothing is to be looked for in the memory that @first and those behind it have: somebody who runs
 * on has it, too.
 */
void cryo_sharers_leave_memory(struct cryo_capture *c, struct cryo_sharer *first)
{
	struct cryo_sharer *s = first;

	/* As if another process had brought it along. */
	s->proc->mm_saved = true;
	while (!is_last(c, CRYO_SHARED_MM, s) && s[1].key == first->key) {
		s++;
		s->proc->mm_saved = true;
		cond_resched();
	}
}

/* The first process of the context that has the same as this one; NULL: no other has. */
struct cryo_proc *cryo_first_sharer(struct cryo_capture *c, struct cryo_proc *p,
				    enum cryo_shared what)
{
	struct cryo_sharer *first = first_with_key(c, what, saved_key(p->task, what));

	if (!first || is_last(c, what, first) || first[1].key != first->key)
		return NULL;
	return first->proc;
}

/* With rcu_read_lock(): did the parent of @p, or whoever was that, not make it share? */
static bool is_top(struct cryo_capture *c, struct cryo_proc *p, same_fn same)
{
	struct cryo_proc *parent = cryo_find_proc(c->req, rcu_dereference(p->task->real_parent));

	return !parent || !cryo_proc_is_saved(parent) || !same(parent->task, p->task);
}

/* With rcu_read_lock(): can one of them be made by the other for the parent of both? */
static bool may_be_siblings(struct cryo_proc *a, struct cryo_proc *b)
{
	return same_thread_group(rcu_dereference(a->task->real_parent),
				 rcu_dereference(b->task->real_parent));
}

/*
 * The first top of those that have the same as @first. Looked for once: there may be many that are
 * none.
 */
static struct cryo_proc *top_of(struct cryo_capture *c, enum cryo_shared what, same_fn same,
				struct cryo_sharer *first)
{
	struct cryo_sharer *s = first;

	while (!first->top) {
		rcu_read_lock();
		if (is_top(c, s->proc, same))
			first->top = s->proc;
		rcu_read_unlock();
		if (is_last(c, what, s) || s[1].key != first->key)
			break;
		s++;
		cond_resched();
	}
	return first->top;
}

/*
 * The process beside which @p cannot be made, or NULL. To be of one pid namespace, and to be
 * siblings, goes over from one to the next: so each is compared with the first one only.
 */
static struct cryo_proc *find_stranger(struct cryo_capture *c, struct cryo_proc *p,
				       enum cryo_shared what, same_fn same)
{
	struct cryo_sharer *first = first_with_key(c, what, saved_key(p->task, what));
	struct cryo_proc *top;
	bool fits;

	if (!first)
		return NULL;
	if (task_active_pid_ns(first->proc->task) != task_active_pid_ns(p->task))
		return first->proc;
	top = top_of(c, what, same, first);
	rcu_read_lock();
	fits = !top || !is_top(c, p, same) || may_be_siblings(top, p);
	rcu_read_unlock();
	return fits ? NULL : top;
}

static void check_strangers(struct cryo_capture *c, struct cryo_proc *p, enum cryo_shared what,
			    same_fn same, const char *name)
{
	struct cryo_proc *other = find_stranger(c, p, what, same);

	if (other)
		cryo_refuse(c, p, "sharing %s with pid %d (%s) of another parent or pid namespace is not supported",
			    name, other->pid, other->comm);
}

/* Those who share it have to be made by one another. */
void cryo_check_sharing(struct cryo_capture *c, struct cryo_proc *p)
{
	check_strangers(c, p, CRYO_SHARED_MM, same_mm, "memory");
	check_strangers(c, p, CRYO_SHARED_SIGHAND, same_sighand, "signal handlers");
}

static int save_shared_memory(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_proc *mm = cryo_first_sharer(c, p, CRYO_SHARED_MM);
	struct cryo_proc *sighand = cryo_first_sharer(c, p, CRYO_SHARED_SIGHAND);
	struct cryo_shared_memory out = {
		.mm = mm ? mm->pid : 0,
		.sighand = sighand ? sighand->pid : 0,
	};

	if (!mm)
		return 0;
	return cryo_stream_section(&c->stream, CRYO_SEC_SHARED_MEMORY, p->pid, sizeof(out), &out,
				   sizeof(out));
}

const struct cryo_resource cryo_resource_shared_memory = {
	.save = save_shared_memory,
};
