// SPDX-License-Identifier: GPL-2.0-only
/*
 * ipc.c - what System V shared memory, semaphores and message queues have in common
 *
 * These objects belong to nobody and outlive everybody.  Those are saved that a process of the
 * scope has attached, would undo operations of, has created or was the last to use.
 */
#include <linux/cred.h>
#include <linux/ipc_namespace.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/stat.h>
#include <linux/user_namespace.h>

#include "ipc.h"

struct ipc_ids *cryo_ipc_ids(int kind)
{
	return &current->nsproxy->ipc_ns->ids[kind];
}

bool cryo_pid_in_scope(struct cryo_capture *c, struct pid *pid)
{
	struct task_struct *task;
	bool is = false;

	rcu_read_lock();
	task = pid ? pid_task(pid, PIDTYPE_TGID) : NULL;
	if (task)
		is = cryo_find_parked(c->req, task);
	rcu_read_unlock();
	return is;
}

/* Whether the requester may read the object: its contents are going to be in his file. */
bool cryo_ipc_readable(const struct kern_ipc_perm *perm)
{
	kuid_t euid = current_euid();
	umode_t mode = perm->mode;

	if (uid_eq(euid, perm->cuid) || uid_eq(euid, perm->uid))
		mode >>= 6;
	else if (in_group_p(perm->cgid) || in_group_p(perm->gid))
		mode >>= 3;
	return mode & 4 || ns_capable(current->nsproxy->ipc_ns->user_ns, CAP_IPC_OWNER);
}

void cryo_ipc_fill(struct cryo_ipc_perm *out, const struct kern_ipc_perm *perm, time64_t changed)
{
	struct user_namespace *ns = current_user_ns();

	out->id = perm->id;
	out->key = perm->key;
	out->uid = from_kuid_munged(ns, perm->uid);
	out->gid = from_kgid_munged(ns, perm->gid);
	out->cuid = from_kuid_munged(ns, perm->cuid);
	out->cgid = from_kgid_munged(ns, perm->cgid);
	out->mode = perm->mode & 0777;
	out->changed = changed;
}

/* CRYO_IOC_IPC_ID */
long cryo_ipc_id(void __user *arg)
{
	struct cryo_ipc_id args;
	struct ipc_ids *ids;
	int err;

	if (!cryo_pid_choice_feature())
		return -EOPNOTSUPP;
	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_ipc_id, id), arg);
	if (err)
		return err;
	if (args.reserved || args.id < 0)
		return -EINVAL;
	switch (args.kind) {
	case CRYO_IPC_KIND_SEM:
		ids = cryo_ipc_ids(CRYO_IPC_SEM);
		break;
	case CRYO_IPC_KIND_MSG:
		ids = cryo_ipc_ids(CRYO_IPC_MSG);
		break;
	case CRYO_IPC_KIND_SHM:
		ids = cryo_ipc_ids(CRYO_IPC_SHM);
		break;
	default:
		return -EINVAL;
	}
	if (down_write_killable(&ids->rwsem))
		return -EINTR;
	err = cryo_ipc_set_next(ids, args.id) ? 0 : -EOPNOTSUPP;
	up_write(&ids->rwsem);
	return err;
}
