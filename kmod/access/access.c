// SPDX-License-Identifier: GPL-2.0-only
/*
 * access.c - who may do what to whom
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/uidgid.h>

#include "access/access.h"
#include "access/consent.h"
#include "compat/ksym.h"
#include "compat/mm.h"

#define EXEC_WAIT_MS	1000

bool cryo_may_trace_now(struct task_struct *task)
{
	/*
	 * Yama lets nobody trace one that has gone, and would write that to the kernel's log as an
	 * attack.
	 */
	if (!pid_alive(task))
		return false;
	/* Either does. Yama, asked first, would write, too. */
	return cryo_consented(task) || cryo_ptrace_may_access(task, PTRACE_MODE_ATTACH_REALCREDS);
}

static bool may_read_now(struct task_struct *task)
{
	return cryo_ptrace_may_access(task, PTRACE_MODE_READ_REALCREDS);
}

/* 0, -EPERM, or -EAGAIN while it is in exec(). */
static int ask_once(struct task_struct *task, bool (*may)(struct task_struct *task))
{
	bool settled;

	if (may(task))
		return 0;
	if (!down_read_trylock(&task->signal->exec_update_lock))
		return -EAGAIN;
	settled = may(task);
	up_read(&task->signal->exec_update_lock);
	return settled ? 0 : -EPERM;
}

/*
 * Since Linux 7.1, a process in exec() that has its new memory is not dumpable until the kernel has
 * looked at whose program that is, for a moment in which it has exec_update_lock. "No" is an answer
 * without that only.
 */
static bool ask(struct task_struct *task, bool (*may)(struct task_struct *task))
{
	unsigned long end = jiffies + msecs_to_jiffies(EXEC_WAIT_MS);
	int err = ask_once(task, may);

	while (err == -EAGAIN && !fatal_signal_pending(current) && time_before(jiffies, end)) {
		schedule_timeout_killable(1);
		err = ask_once(task, may);
	}
	return !err;
}

bool cryo_may_trace(struct task_struct *task)
{
	return ask(task, cryo_may_trace_now);
}

bool cryo_may_read_as(const struct cred *cred, struct task_struct *task)
{
	const struct cred *own = override_creds(cred);
	bool may = ask(task, may_read_now);

	revert_creds(own);
	return may;
}

bool cryo_may_see(struct task_struct *task)
{
	return cryo_ptrace_may_access(task, PTRACE_MODE_READ_FSCREDS | PTRACE_MODE_NOAUDIT);
}

bool cryo_may_see_creds(const struct cred *cred)
{
	return uid_eq(cred->uid, current_uid()) || ns_capable_noaudit(cred->user_ns, CAP_SETUID);
}

static int dumpable_of(struct task_struct *task)
{
	int dumpable = -1;

	task_lock(task);
	if (task->mm)
		dumpable = cryo_get_dumpable(task, task->mm);
	task_unlock(task);
	return dumpable;
}

void cryo_identity_note(struct cryo_identity *id, struct task_struct *task)
{
	id->cred = get_task_cred(task);
	id->exec_id = READ_ONCE(task->self_exec_id);
	id->dumpable = dumpable_of(task);
}

bool cryo_identity_is_same(const struct cryo_identity *id)
{
	return id->cred == current_real_cred() && id->exec_id == current->self_exec_id &&
	       id->dumpable == dumpable_of(current);
}

void cryo_identity_put(struct cryo_identity *id)
{
	put_cred(id->cred);
	id->cred = NULL;
}

bool cryo_maker_capable(const struct cred *maker, struct user_namespace *ns, int cap)
{
	const struct cred *own = override_creds(maker);
	bool capable = ns_capable_noaudit(ns, cap);

	revert_creds(own);
	return capable;
}

/*
 * The kernel asks nobody who signals his own process, and takes the caller for the sender: its rule
 * for others.
 */
static bool may_kill_caller(const struct cred *sender)
{
	const struct cred *own = current_real_cred();

	return uid_eq(sender->euid, own->suid) || uid_eq(sender->euid, own->uid) ||
	       uid_eq(sender->uid, own->suid) || uid_eq(sender->uid, own->uid) ||
	       cryo_maker_capable(sender, own->user_ns, CAP_KILL);
}

bool cryo_cred_has_no_more(const struct cred *cred, struct task_struct *task)
{
	const struct cred *its = get_task_cred(task);
	bool is = (uid_eq(its->uid, cred->euid) && uid_eq(its->euid, cred->euid) &&
		   uid_eq(its->suid, cred->euid) && its->user_ns == cred->user_ns &&
		   cap_issubset(its->cap_permitted, cred->cap_permitted)) ||
		  cryo_maker_capable(cred, its->user_ns, CAP_KILL);

	put_cred(its);
	return is;
}

bool cryo_may_open_as(struct task_struct *task, const struct path *path, int mask)
{
	const struct cred *cred = get_task_cred(task), *own = override_creds(cred);
	bool may = !path_permission(path, mask);

	revert_creds(own);
	put_cred(cred);
	return may;
}

int cryo_kill_as(const struct cred *sender, struct pid *tgid, int signal)
{
	const struct cred *own;
	int err;

	if (tgid == task_tgid(current) && !may_kill_caller(sender))
		return -EPERM;
	own = override_creds(sender);
	err = kill_pid(tgid, signal, 0);
	revert_creds(own);
	return err;
}

const struct cred *cryo_raise_own_cap(int cap)
{
	struct cred *raised = prepare_creds();

	if (!raised)
		return ERR_PTR(-ENOMEM);
	cap_raise(raised->cap_effective, cap);
	return override_creds(raised);
}

void cryo_drop_own_cap(const struct cred *own)
{
	const struct cred *raised = current_cred();

	revert_creds(own);
	put_cred(raised);
}
