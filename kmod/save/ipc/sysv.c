// SPDX-License-Identifier: GPL-2.0-only
/*
 * sysv.c - what System V shared memory, semaphores and message queues have in common
 *
 * These objects belong to nobody and outlive everybody.  Those are saved that a process of the
 * scope has attached, would undo operations of, has created or was the last to use; and of
 * namespaces that are not the requester's, all.
 */
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/ipc_namespace.h>
#include <linux/magic.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/proc_ns.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/stat.h>
#include <linux/user_namespace.h>

#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "access/exceptions.h"
#include "capture/capture.h"
#include "compat/layouts.h"
#include "lib/args.h"
#include "lib/turn.h"
#include "paths/paths.h"
#include "resources.h"
#include "save/ipc.h"
#include "save/ipc/sysv.h"

void cryo_ipc_spaces_init(struct cryo_capture *c)
{
	INIT_LIST_HEAD(&c->ipc_spaces);
	c->own_ipc.ns = current->nsproxy->ipc_ns;
	list_add(&c->own_ipc.node, &c->ipc_spaces);
}

void cryo_ipc_spaces_free(struct cryo_capture *c)
{
	struct cryo_ipc_space *space, *next;

	list_for_each_entry_safe(space, next, &c->ipc_spaces, node) {
		if (space == &c->own_ipc)
			continue;
		fput(space->file);
		kfree(space);
	}
}

/* NULL: no process of the job is in @ns. */
struct cryo_ipc_space *cryo_ipc_space_of(struct cryo_capture *c, const struct ipc_namespace *ns)
{
	struct cryo_ipc_space *space;

	list_for_each_entry(space, &c->ipc_spaces, node)
		if (space->ns == ns)
			return space;
	return NULL;
}

/* Is it what it should be? */
static bool is_namespace(struct file *file, u32 number)
{
	struct inode *inode = file_inode(file);

	return inode->i_sb->s_magic == NSFS_MAGIC && get_proc_ns(inode)->inum == number &&
	       !strcmp(get_proc_ns(inode)->ops->name, "ipc");
}

/* The file keeps the namespace. */
static struct file *open_space(struct cryo_capture *c, struct task_struct *task, u32 number)
{
	char name[48];
	struct file *file;

	snprintf(name, sizeof(name), "%d/ns/ipc", task_pid_vnr(task));
	file = cryo_proc_open(c, name);
	if (IS_ERR(file) || is_namespace(file, number))
		return file;
	fput(file);
	return ERR_PTR(-EIO);
}

/* Note the namespace with the @number that @p is in, with all that is in it. */
int cryo_ipc_note(struct cryo_capture *c, struct cryo_proc *p, u32 number)
{
	struct cryo_ipc_space *space;
	struct file *file;

	list_for_each_entry(space, &c->ipc_spaces, node)
		if (space->number == number)
			return 0;
	space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);
	if (!space)
		return -ENOMEM;
	file = open_space(c, p->task, number);
	if (IS_ERR(file)) {
		kfree(space);
		return PTR_ERR(file);
	}
	space->file = file;
	space->number = number;
	space->ns = container_of(get_proc_ns(file_inode(file)), struct ipc_namespace, ns);
	list_add_tail(&space->node, &c->ipc_spaces);
	if (space->ns->shm_rmid_forced && space->ns->ids[CRYO_IPC_SHM].in_use)
		cryo_refuse(c, p, "System V shared memory in an ipc namespace with kernel.shm_rmid_forced is not supported");
	return 0;
}

/*
 * These objects are no process's. The one whose open file was found last stands for those who have
 * them: messages name it, and what is found as an open file is counted to it.
 */
struct cryo_proc *cryo_ipc_holder(struct cryo_capture *c)
{
	if (list_empty(&c->files))
		return cryo_first_proc(c->req);
	return list_last_entry(&c->files, struct cryo_object, node)->proc;
}

/* Ids are of a namespace each. */
u32 cryo_ipc_object(struct cryo_capture *c, const struct cryo_ipc_space *space, int id)
{
	return space->number ? CRYO_IPC_ELSEWHERE | ++c->next_id : id;
}

/* So many objects are looked at before others get the lock, who make and remove some. */
#define IPC_BATCH 16

/* Which of them are the job's cannot be told then, and what they hold even less. */
static bool ipc_layout_fits(struct cryo_capture *c, struct cryo_ipc_space *space, int kind)
{
	static const struct {
		enum cryo_layout layout;
		const char *name;
	} kinds[] = {
		[CRYO_IPC_SEM] = { CRYO_LAYOUT_SYSV_SEM, "semaphores" },
		[CRYO_IPC_MSG] = { CRYO_LAYOUT_SYSV_MSG, "message queues" },
		[CRYO_IPC_SHM] = { CRYO_LAYOUT_SYSV_SHM, "shared memory" },
	};

	if (cryo_layout_fits(kinds[kind].layout))
		return true;
	if (READ_ONCE(space->ns->ids[kind].in_use) && !(space->told & BIT(kind))) {
		space->told |= BIT(kind);
		cryo_refuse(c, cryo_ipc_holder(c), "System V %s in its ipc namespace: this kernel's structures differ from those that Cryo knows (cr_info --check)",
			    kinds[kind].name);
	}
	return false;
}

static int each_in_space(struct cryo_capture *c, struct cryo_ipc_space *space, int kind,
			 int (*look)(struct cryo_capture *c, struct cryo_ipc_space *space,
				     struct kern_ipc_perm *perm))
{
	struct ipc_ids *ids = cryo_ipc_ids(space, kind);
	struct kern_ipc_perm *perm;
	int at = 0, err, n;

	if (!ipc_layout_fits(c, space, kind))
		return 0;
	do {
		err = cryo_capture_interrupted(c);
		if (err)
			return err;
		if (down_read_killable(&ids->rwsem))
			return -EINTR;
		for (n = 0; !err && n < IPC_BATCH; n++, at++) {
			perm = idr_get_next(&ids->ipcs_idr, &at);
			if (!perm)
				break;
			err = look(c, space, perm);
		}
		up_read(&ids->rwsem);
		cond_resched();
	} while (!err && perm);
	return err;
}

/* Calls @look for each object of a kind in all namespaces of the job, with what keeps it there. */
int cryo_each_ipc_object(struct cryo_capture *c, int kind,
			 int (*look)(struct cryo_capture *c, struct cryo_ipc_space *space,
				     struct kern_ipc_perm *perm))
{
	struct cryo_ipc_space *space;
	int err = 0;

	list_for_each_entry(space, &c->ipc_spaces, node) {
		err = each_in_space(c, space, kind, look);
		if (err)
			break;
	}
	return err;
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

/* The same of who used an object last: put there by anybody, and freed, with @lock held. */
bool cryo_ipc_user_in_scope(struct cryo_capture *c, struct pid *const *user, spinlock_t *lock)
{
	struct pid *pid;
	bool is;

	spin_lock(lock);
	pid = get_pid(*user);
	spin_unlock(lock);
	is = cryo_pid_in_scope(c, pid);
	put_pid(pid);
	return is;
}

/* Whether the requester may read the object: its contents are going to be in his file. */
bool cryo_ipc_readable(const struct cryo_ipc_space *space, const struct kern_ipc_perm *perm)
{
	kuid_t euid = current_euid();
	umode_t mode = perm->mode;

	if (uid_eq(euid, perm->cuid) || uid_eq(euid, perm->uid))
		mode >>= 6;
	else if (in_group_p(perm->cgid) || in_group_p(perm->gid))
		mode >>= 3;
	return mode & 4 || ns_capable(space->ns->user_ns, CAP_IPC_OWNER);
}

void cryo_ipc_fill(const struct cryo_ipc_space *space, struct cryo_ipc_perm *out,
		   const struct kern_ipc_perm *perm, time64_t changed)
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
	out->ns = space->number;
}

/*
 * Is the place of @id taken? Older kernels go on to the next free one then, and that may lie where
 * no id leads: such an object could be found by its key only, and never be removed.
 */
static bool is_taken(struct ipc_ids *ids, int id)
{
	int at = id & ((1 << CRYO_IPC_INDEX_BITS) - 1);
	const struct kern_ipc_perm *perm = idr_find(&ids->ipcs_idr, at);

	/* With ipcmni_extend, ids have more bits for the place. */
	return perm && perm->id == (int)(perm->seq << CRYO_IPC_INDEX_BITS) + at;
}

static bool is_next_used(const void *ids)
{
	return cryo_ipc_next(ids) < 0;
}

static int set_next_id(struct ipc_ids *ids, int id)
{
	int err;

	if (down_write_killable(&ids->rwsem))
		return -EINTR;
	if (is_taken(ids, id))
		err = -EEXIST;
	else
		err = cryo_ipc_set_next(ids, id) ? 0 : -EOPNOTSUPP;
	up_write(&ids->rwsem);
	return err;
}

long cryo_ipc_id(void __user *arg)
{
	struct ipc_namespace *ns = current->nsproxy->ipc_ns;
	struct cryo_ipc_id args;
	struct ipc_ids *ids;
	int err;

	if (!cryo_exception(CRYO_EXCEPTION_IPC_ID_CHOICE, ns->user_ns))
		return -EPERM;
	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_ipc_id, id), arg);
	if (err)
		return err;
	if (args.reserved || args.id < 0)
		return -EINVAL;
	switch (args.kind) {
	case CRYO_IPC_KIND_SEM:
		ids = &ns->ids[CRYO_IPC_SEM];
		break;
	case CRYO_IPC_KIND_MSG:
		ids = &ns->ids[CRYO_IPC_MSG];
		break;
	case CRYO_IPC_KIND_SHM:
		ids = &ns->ids[CRYO_IPC_SHM];
		break;
	default:
		return -EINVAL;
	}
	err = cryo_turn_begin(ids, is_next_used);
	if (err)
		return err;
	err = set_next_id(ids, args.id);
	if (err)
		cryo_turn_end(ids, is_next_used);
	else
		cryo_turn_set(ids);
	return err;
}

const struct cryo_file_kind cryo_file_kind_sysv = {
	.kind = CRYO_FILE_SYSV,
	.needs = CRYO_NEEDS_LAYOUT(SYSV_SHM),
};
