// SPDX-License-Identifier: GPL-2.0-only
/* save_sem.c - System V semaphores, and what processes would undo */
#include <linux/idr.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/rwsem.h>
#include <linux/sched/task.h>

#include "ipc.h"

/* With ids->rwsem: a set that exists stays. */
static struct cryo_sem_array *find_set(struct ipc_ids *ids, int id)
{
	struct kern_ipc_perm *perm;
	int at;

	idr_for_each_entry(&ids->ipcs_idr, perm, at)
		if (perm->id == id)
			return container_of(perm, struct cryo_sem_array, sem_perm);
	return NULL;
}

/* Whether a process in the scope would undo something of the set. */
static bool undone_in_scope(struct cryo_capture *c, int id)
{
	struct cryo_parked *p;
	struct cryo_undo_list *list;
	struct cryo_undo *undo;
	bool is = false;

	list_for_each_entry(p, &c->req->parked, node) {
		list = READ_ONCE(p->state) == CRYO_PARK_GONE ? NULL : cryo_semundo(p->task);
		if (!list)
			continue;
		spin_lock(&list->lock);
		list_for_each_entry(undo, &list->list_proc, list_proc)
			is |= undo->semid == id;
		spin_unlock(&list->lock);
		if (is)
			break;
	}
	return is;
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
	return undone_in_scope(c, set->sem_perm.id);
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
		cryo_refuse(c, "System V semaphores %d: you may not read them",
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
	return cryo_each_ipc_object(c, CRYO_IPC_SEM, save_set);
}

/* Adjustments of @list that are not zero; without @buf they are counted only. */
static u32 put_undo(struct ipc_ids *ids, struct cryo_undo_list *list, struct cryo_sem_undo *out,
		    u32 room)
{
	struct cryo_undo *undo;
	u32 n = 0;
	int i;

	spin_lock(&list->lock);
	list_for_each_entry(undo, &list->list_proc, list_proc) {
		const struct cryo_sem_array *set = find_set(ids, undo->semid);

		for (i = 0; set && i < set->sem_nsems; i++) {
			if (!undo->semadj[i])
				continue;
			if (n < room)
				out[n] = (struct cryo_sem_undo){ .id = undo->semid, .number = i,
								 .adjustment = undo->semadj[i] };
			n++;
		}
	}
	spin_unlock(&list->lock);
	return n;
}

/* All threads of a process have one list, see check_process.c. */
int cryo_save_sem_undo(struct cryo_capture *c, struct task_struct *task, u32 pid)
{
	struct cryo_array head = { .record_size = sizeof(struct cryo_sem_undo) };
	struct cryo_undo_list *list = cryo_semundo(task);
	struct cryo_buf buf = {};
	struct cryo_ipc_space *space = NULL;
	struct cryo_sem_undo *out;
	struct ipc_ids *ids;
	u32 room;

	task_lock(task);
	if (task->nsproxy)
		space = cryo_ipc_space_of(c, task->nsproxy->ipc_ns);
	task_unlock(task);
	if (!list || !space)
		return 0;
	ids = cryo_ipc_ids(space, CRYO_IPC_SEM);
	if (down_read_killable(&ids->rwsem))
		return -EINTR;
	/* Only their own process adds to it, which is parked; SETVAL and SETALL of others take away. */
	room = put_undo(ids, list, NULL, 0);
	cryo_buf_put(&buf, &head, sizeof(head));
	out = cryo_buf_add(&buf, room * sizeof(*out));
	if (out) {
		head.count = min(put_undo(ids, list, out, room), room);
		memcpy(buf.data, &head, sizeof(head));
		buf.len -= (room - head.count) * sizeof(*out);
	}
	up_read(&ids->rwsem);
	if (!head.count && !buf.error) {
		cryo_buf_free(&buf);
		return 0;
	}
	return cryo_stream_buf(&c->stream, CRYO_SEC_SEM_UNDO, pid, sizeof(head), &buf);
}
