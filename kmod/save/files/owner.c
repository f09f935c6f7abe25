// SPDX-License-Identifier: GPL-2.0-only
/* owner.c - who is told by signals about an open file: F_SETOWN, F_SETOWN_EX, F_SETSIG */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/uidgid.h>

#include <cryo/format.h>

#include "compat/fs.h"
#include "save/files.h"

/* As F_GETOWN: nobody, when whoever it was has gone. */
static int owner_number(struct pid *pid, enum pid_type type)
{
	int nr = 0;

	rcu_read_lock();
	if (pid_task(pid, type))
		nr = pid_vnr(pid);
	rcu_read_unlock();
	return nr;
}

void cryo_save_owner(struct file *file, struct cryo_file *out)
{
	struct fown_struct *owner = cryo_file_owner(file);
	struct pid *pid;
	enum pid_type type;
	kuid_t uid, euid;
	int nr;

	if (!owner)
		return;
	read_lock_irq(&owner->lock);
	pid = get_pid(owner->pid);
	type = owner->pid_type;
	out->owner_signal = owner->signum;
	uid = owner->uid;
	euid = owner->euid;
	read_unlock_irq(&owner->lock);
	nr = owner_number(pid, type);
	put_pid(pid);
	out->owner_pid = type == PIDTYPE_PGID ? -nr : nr;
	out->owner_thread = nr && type == PIDTYPE_PID;
	if (!nr)
		return;
	out->owner_uid = from_kuid_munged(current_user_ns(), uid);
	out->owner_euid = from_kuid_munged(current_user_ns(), euid);
	out->owner_known = 1;
}

bool cryo_has_owner(struct file *file)
{
	struct fown_struct *owner = cryo_file_owner(file);

	return owner && READ_ONCE(owner->pid);
}
