// SPDX-License-Identifier: GPL-2.0-only
/* sem.c - System V semaphores, and what processes would undo */
#include <linux/bsearch.h>
#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/rwsem.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "lib/buf.h"
#include "lib/locked_task.h"
#include "resources.h"
#include "save/ipc.h"
#include "save/ipc/sysv.h"

/* So many semaphores are looked at before others get a chance. */
#define UNDO_BATCH	4096

/*
 * Calls @look for each set that @task would undo something of, with its task_lock(), until it
 * returns other than 0. Only their own process adds to the list, which is parked; and nobody else
 * takes from it, for which ids->rwsem would be needed. A thread that has been killed frees it when
 * it has given up its memory, for which it needs task_lock(). All who make or remove sets wait for
 * ids->rwsem: it is held for the list of one process, which has an entry for each set at most.
 */
static int each_undo(struct cryo_capture *c, struct cryo_ipc_space *space,
		     struct task_struct *task,
		     unsigned int (*look)(void *data, const struct cryo_undo *undo), void *data)
{
	struct ipc_ids *ids = cryo_ipc_ids(space, CRYO_IPC_SEM);
	struct cryo_undo_list *list = NULL;
	struct cryo_undo *undo;
	struct nsproxy *in;
	unsigned int n = 0;
	int err = 0;

	if (down_read_killable(&ids->rwsem))
		return -EINTR;
	task_lock(task);
	/* What it would undo is of the namespace that it is in. */
	in = cryo_nsproxy_of(task);
	if (in && in->ipc_ns == space->ns)
		list = cryo_semundo_of(task);
	if (!list)
		goto unlock;
	list_for_each_entry(undo, &list->list_proc, list_proc) {
		n += 1 + look(data, undo);
		if (n < UNDO_BATCH)
			continue;
		n = 0;
		task_unlock(task);
		cond_resched();
		err = cryo_capture_interrupted(c);
		task_lock(task);
		if (!err && (!task->mm || cryo_semundo_of(task) != list))
			err = -ESRCH;
		if (err)
			break;
	}
unlock:
	task_unlock(task);
	up_read(&ids->rwsem);
	return err;
}

struct id_list {
	int *ids;
	unsigned int n, room;
};

static unsigned int note_id(void *data, const struct cryo_undo *undo)
{
	struct id_list *list = data;

	if (list->n < list->room)
		list->ids[list->n] = undo->semid;
	list->n++;
	return 0;
}

/* All threads of a process have one list, see check_process.c. */
static int note_ids(struct cryo_capture *c, struct id_list *list)
{
	struct cryo_proc *p;
	int err = 0;

	list->n = 0;
	cryo_for_each_proc(p, c->req) {
		if (err)
			break;
		if (p->task && !p->zombie && !p->gone && !p->omitted)
			err = each_undo(c, &c->own_ipc, p->task, note_id, list);
	}
	return err;
}

static int compare_ids(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * The sets of the requester's namespace that a process in the scope would undo something of,
 * sorted.
 */
static int find_undone(struct cryo_capture *c, struct id_list *list)
{
	int err = note_ids(c, list);

	list->room = list->n;
	if (!err && list->room) {
		list->ids = kvmalloc_array(list->room, sizeof(int), GFP_KERNEL_ACCOUNT);
		err = list->ids ? note_ids(c, list) : -ENOMEM;
	}
	list->n = min(list->n, list->room);
	if (!err)
		sort(list->ids, list->n, sizeof(int), compare_ids, NULL);
	return err;
}

static bool is_undone(struct cryo_capture *c, int id)
{
	return c->undone && bsearch(&id, c->undone, c->nr_undone, sizeof(int), compare_ids);
}

/* Simple operations hold the lock of the semaphore only, others that of the set. */
static bool user_in_scope(struct cryo_capture *c, struct cryo_sem_array *set,
			  struct cryo_sem_one *sem)
{
	bool is;

	spin_lock(&set->sem_perm.lock);
	is = cryo_ipc_user_in_scope(c, &sem->sempid, &sem->lock);
	spin_unlock(&set->sem_perm.lock);
	return is;
}

static bool set_in_scope(struct cryo_capture *c, struct cryo_sem_array *set)
{
	int i;

	for (i = 0; i < set->sem_nsems; i++)
		if (user_in_scope(c, set, &set->sems[i]))
			return true;
	return is_undone(c, set->sem_perm.id);
}

static int save_set(struct cryo_capture *c, struct cryo_ipc_space *space,
		    struct kern_ipc_perm *perm)
{
	struct cryo_sem_array *set = container_of(perm, struct cryo_sem_array, sem_perm);
	struct cryo_sem_set out = { .count = set->sem_nsems };
	struct cryo_buf buf = {};
	u32 *values;
	int i;

	if (!space->number && !set_in_scope(c, set))
		return 0;
	cryo_ipc_fill(space, &out.perm, &set->sem_perm, set->sem_ctime);
	if (!cryo_ipc_readable(space, &set->sem_perm)) {
		cryo_refuse(c, cryo_ipc_holder(c), "System V semaphores %d: you may not read them",
			    out.perm.id);
		return 0;
	}
	cryo_buf_put(&buf, &out, sizeof(out));
	values = cryo_buf_add(&buf, out.count * sizeof(*values));
	for (i = 0; values && i < set->sem_nsems; i++)
		values[i] = READ_ONCE(set->sems[i].semval);
	return cryo_stream_buf(&c->stream, CRYO_SEC_SEM,
			       cryo_ipc_object(c, space, out.perm.id), sizeof(out), &buf);
}

int cryo_save_sems(struct cryo_capture *c)
{
	struct id_list list = {};
	int err = find_undone(c, &list);

	c->undone = list.ids;
	c->nr_undone = list.n;
	if (!err)
		err = cryo_each_ipc_object(c, CRYO_IPC_SEM, save_set);
	c->undone = NULL;
	kvfree(list.ids);
	return err;
}

struct undo_list {
	struct cryo_ipc_space *space;
	struct ipc_ids *ids;
	struct cryo_sem_undo *out;	/* NULL: they are counted */
	u32 n, room;
};

/* Adjustments that are not zero. */
static unsigned int put_undo(void *data, const struct cryo_undo *undo)
{
	struct undo_list *list = data;
	const struct kern_ipc_perm *perm = cryo_ipc_find(list->ids, undo->semid);
	const struct cryo_sem_array *set;
	int i;

	if (!perm)
		return 0;
	set = container_of(perm, struct cryo_sem_array, sem_perm);
	for (i = 0; i < set->sem_nsems; i++) {
		if (!undo->semadj[i])
			continue;
		if (list->n < list->room)
			list->out[list->n] = (struct cryo_sem_undo){
				.id = undo->semid, .number = i, .adjustment = undo->semadj[i],
			};
		list->n++;
	}
	return set->sem_nsems;
}

/* SETVAL and SETALL of others take some away meanwhile. */
static int put_undos(struct cryo_capture *c, struct task_struct *task, struct undo_list *list,
		     struct cryo_buf *buf)
{
	struct cryo_array head = { .record_size = sizeof(struct cryo_sem_undo) };
	int err = each_undo(c, list->space, task, put_undo, list);

	if (err || !list->n)
		return err;
	cryo_buf_put(buf, &head, sizeof(head));
	list->room = list->n;
	list->out = cryo_buf_add(buf, list->room * sizeof(*list->out));
	if (!list->out)
		return buf->error;
	list->n = 0;
	err = each_undo(c, list->space, task, put_undo, list);
	list->n = min(list->n, list->room);
	head.count = list->n;
	memcpy(buf->data, &head, sizeof(head));
	buf->len -= (list->room - list->n) * sizeof(*list->out);
	return err;
}

/* All threads of a process have one list, see check_process.c. */
static int save_sem_undo(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_ipc_space *space = NULL;
	struct undo_list list = {};
	struct cryo_buf buf = {};
	struct nsproxy *in;
	int err;

	task_lock(p->task);
	in = cryo_nsproxy_of(p->task);
	if (in)
		space = cryo_ipc_space_of(c, in->ipc_ns);
	task_unlock(p->task);
	if (!space)
		return 0;
	list.space = space;
	list.ids = cryo_ipc_ids(space, CRYO_IPC_SEM);
	err = put_undos(c, p->task, &list, &buf);
	if (err || !list.n) {
		cryo_buf_free(&buf);
		return err;
	}
	return cryo_stream_buf(&c->stream, CRYO_SEC_SEM_UNDO, p->pid, sizeof(struct cryo_array),
			       &buf);
}

const struct cryo_resource cryo_resource_sem_undo = {
	.save = save_sem_undo,
};
