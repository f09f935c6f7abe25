// SPDX-License-Identifier: GPL-2.0-only
/*
 * save_sharing.c - memory and signal handlers that processes have in common without being threads of one
 * another (CLONE_VM, CLONE_SIGHAND)
 *
 * The first process of the context that has an address space brings it along, and the others name it.
 * No call gives a process the memory of another: clone(2) alone makes them share.  So each of them has to
 * be the child, or have the same parent, as another one (CLONE_PARENT).
 */
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sort.h>

#include "cryo.h"

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

static bool is_saved(struct cryo_proc *p)
{
	return p->task && !p->zombie && !p->gone && !p->omitted;
}

struct sharer {
	const void *key;		/* identity only */
	u32 order;			/* of the process in the scope */
	struct cryo_proc *proc;
};

static const void *shared_key(struct task_struct *task, enum cryo_shared what)
{
	switch (what) {
	case CRYO_SHARED_MM:
		return READ_ONCE(task->mm);
	case CRYO_SHARED_SIGHAND:
		return rcu_access_pointer(task->sighand);
	case CRYO_SHARED_FILES:
		return READ_ONCE(task->files);
	default:
		return READ_ONCE(task->fs);
	}
}

static int compare_sharers(const void *a, const void *b)
{
	const struct sharer *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int find_sharers_of(struct cryo_capture *c, enum cryo_shared what)
{
	struct cryo_buf *buf = &c->sharers[what];
	struct sharer out = {};
	struct cryo_proc *p;

	cryo_for_each_proc(p, c->req) {
		out.order++;
		if (!is_saved(p))
			continue;
		out.key = shared_key(p->task, what);
		out.proc = p;
		cryo_buf_put(buf, &out, sizeof(out));
	}
	sort(buf->data, buf->len / sizeof(out), sizeof(out), compare_sharers, NULL);
	return buf->error;
}

/* Who has what, once for all processes. */
int cryo_find_sharers(struct cryo_capture *c)
{
	enum cryo_shared what;
	int err = 0;

	BUILD_BUG_ON(ARRAY_SIZE(c->sharers) != CRYO_NR_SHARED);
	for (what = 0; !err && what < CRYO_NR_SHARED; what++)
		err = find_sharers_of(c, what) ?: cryo_look_interrupted(c);
	return err;
}

/* The first process of the context that has the same as this one; NULL: no other has. */
struct cryo_proc *cryo_first_with(struct cryo_capture *c, enum cryo_shared what)
{
	const struct sharer *all = (const void *)c->sharers[what].data;
	size_t low = 0, high = c->sharers[what].len / sizeof(*all), count = high, middle;
	const void *key = shared_key(c->p->task, what);

	while (low < high) {
		middle = low + (high - low) / 2;
		if (all[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	if (!key || low + 1 >= count || all[low].key != key || all[low + 1].key != key)
		return NULL;
	return all[low].proc;
}

/* With rcu_read_lock(): did the parent of @p, or whoever was that, not make it share? */
static bool is_top(struct cryo_capture *c, struct cryo_proc *p, same_fn same)
{
	struct cryo_proc *parent = cryo_find_proc(c->req, rcu_dereference(p->task->real_parent));

	return !parent || !is_saved(parent) || !same(parent->task, p->task);
}

/* With rcu_read_lock(): can @p be made by @top for the parent of both? */
static bool may_be_siblings(struct cryo_proc *top, struct cryo_proc *p)
{
	return same_thread_group(rcu_dereference(top->task->real_parent),
				 rcu_dereference(p->task->real_parent)) &&
	       top->task->group_leader->exit_signal == p->task->group_leader->exit_signal;
}

/* The process beside which c->p cannot be made, or NULL. */
static struct cryo_proc *stranger(struct cryo_capture *c, same_fn same)
{
	struct cryo_proc *p, *found = NULL;

	rcu_read_lock();
	cryo_for_each_proc(p, c->req) {
		if (!is_saved(p) || !same(p->task, c->p->task))
			continue;
		if (task_active_pid_ns(p->task) != task_active_pid_ns(c->p->task) ||
		    (is_top(c, c->p, same) && is_top(c, p, same) && !may_be_siblings(p, c->p))) {
			found = p;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/* With rcu_read_lock(): a process that has the memory of c->p and is left out, or NULL. */
static struct task_struct *find_outsider(struct cryo_capture *c)
{
	struct task_struct *process, *t;
	struct cryo_proc *known;

	for_each_process_thread(process, t) {
		if (t->flags & PF_KTHREAD || READ_ONCE(t->mm) != c->p->mm)
			continue;
		known = cryo_find_proc(c->req, t);
		if (!known || !is_saved(known))
			return t;
	}
	return NULL;
}

static void check_outsiders(struct cryo_capture *c)
{
	char who[CRYO_WHO_MAX];
	struct task_struct *task;

	rcu_read_lock();
	task = find_outsider(c);
	if (task)
		get_task_struct(task);
	rcu_read_unlock();
	if (!task)
		return;
	cryo_describe_task(task, who, sizeof(who));
	put_task_struct(task);
	cryo_refuse(c, "memory shared with %s that is left out (CLONE_VM, vfork) is not supported",
		    who);
}

static void check_strangers(struct cryo_capture *c, same_fn same, const char *what)
{
	struct cryo_proc *other = stranger(c, same);

	if (other)
		cryo_refuse(c, "sharing %s with pid %d (%s) of another parent, exit signal or pid namespace is not supported",
			    what, other->pid, other->comm);
}

/* Those who share it all have to be in the context. */
void cryo_check_sharing(struct cryo_capture *c)
{
	check_outsiders(c);
	check_strangers(c, same_mm, "memory");
	check_strangers(c, same_sighand, "signal handlers");
}

int cryo_save_sharing(struct cryo_capture *c)
{
	struct cryo_proc *mm = cryo_first_with(c, CRYO_SHARED_MM);
	struct cryo_proc *sighand = cryo_first_with(c, CRYO_SHARED_SIGHAND);
	struct cryo_shared_memory out = {
		.mm = mm ? mm->pid : 0,
		.sighand = sighand ? sighand->pid : 0,
	};

	if (!mm)
		return 0;
	return cryo_stream_section(&c->stream, CRYO_SEC_SHARED_MEMORY, c->p->pid, sizeof(out), &out,
				   sizeof(out));
}
