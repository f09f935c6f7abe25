// SPDX-License-Identifier: GPL-2.0-only
/*
 * exceptions.c - what ordinary users may do here, and the kernel reserves to capabilities
 *
 * A restart by who has no capability takes a few rights that the kernel does not give to him. These
 * are all of them; each has a parameter of the module, with which it is switched off. Who has the
 * capability may do it in any case. cryo(4), EXCEPTIONS, has the same table for readers;
 * tests/lint/exceptions compares them.
 */
#include <linux/array_size.h>
#include <linux/capability.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/user_namespace.h>

#include <cryo/ioctl.h>

#include "access/access.h"
#include "access/exceptions.h"
#include "lib/walk_tasks.h"

struct cryo_exception_entry {
	bool on;		/* the parameter; here: its default */
	int cap;		/* what the kernel asks for */
	int other_cap;		/* ... or for this one */
	u64 feature;		/* what cr_info(1) is told */
};

static struct cryo_exception_entry exceptions[CRYO_NR_EXCEPTIONS] = {
	/* As ns_last_pid. Anybody gets there without: by calling fork() until that pid comes. */
	[CRYO_EXCEPTION_PID_CHOICE] = {
		.on = true, .cap = CAP_CHECKPOINT_RESTORE, .other_cap = CAP_SYS_ADMIN,
		.feature = CRYO_FEATURE_PID_CHOICE,
	},
	/*
	 * As sem_next_id, msg_next_id, shm_next_id. Anybody gets there by making and removing
	 * objects.
	 */
	[CRYO_EXCEPTION_IPC_ID_CHOICE] = {
		.on = true, .cap = CAP_CHECKPOINT_RESTORE, .other_cap = CAP_SYS_ADMIN,
		.feature = CRYO_FEATURE_IPC_ID_CHOICE,
	},
	/*
	 * As PR_SET_MM_MAP. Anybody gets there by executing the file, and tracing what comes of it.
	 */
	[CRYO_EXCEPTION_EXE_LINK] = {
		.on = true, .cap = CAP_CHECKPOINT_RESTORE, .other_cap = CAP_SYS_ADMIN,
		.feature = CRYO_FEATURE_EXE_LINK,
	},
	/*
	 * As SCM_CREDENTIALS. Who may trace a process gets there by having it make the connection.
	 */
	[CRYO_EXCEPTION_PEER_PID] = {
		.on = true, .cap = CAP_SYS_ADMIN, .other_cap = CAP_SYS_ADMIN,
		.feature = CRYO_FEATURE_PEER_PID,
	},
	/*
	 * As raw sockets. Anybody gets there by having it sent in a network namespace of his own,
	 * and passing the socket on.
	 */
	[CRYO_EXCEPTION_DATAGRAMS] = {
		.on = true, .cap = CAP_NET_RAW, .other_cap = CAP_NET_RAW,
		.feature = CRYO_FEATURE_DATAGRAMS,
	},
	/*
	 * As SOCK_DESTROY, which ends them. What is left of a connection in TIME_WAIT is no socket
	 * any more and has no user: it may be anybody's, so this is for machines whose users trust
	 * each other.
	 */
	[CRYO_EXCEPTION_TIME_WAIT_PORTS] = {
		.on = false, .cap = CAP_NET_ADMIN, .other_cap = CAP_NET_ADMIN,
		.feature = CRYO_FEATURE_TIME_WAIT_PORTS,
	},
	/*
	 * As tracing at Yama's level 1. A process gets there by PR_SET_PTRACER, for all of its
	 * user's to trace it.
	 */
	[CRYO_EXCEPTION_CONSENT] = {
		.on = true, .cap = CAP_SYS_PTRACE, .other_cap = CAP_SYS_PTRACE,
		.feature = CRYO_FEATURE_CONSENT,
	},
};

module_param_named(pid_choice, exceptions[CRYO_EXCEPTION_PID_CHOICE].on, bool, 0644);
MODULE_PARM_DESC(pid_choice, "allow unprivileged users to choose the next pid of their pid namespace (default: yes)");
module_param_named(ipc_id_choice, exceptions[CRYO_EXCEPTION_IPC_ID_CHOICE].on, bool, 0644);
MODULE_PARM_DESC(ipc_id_choice,
		 "allow unprivileged users to choose the next System V id of their ipc namespace (default: yes)");
module_param_named(exe_link, exceptions[CRYO_EXCEPTION_EXE_LINK].on, bool, 0644);
MODULE_PARM_DESC(exe_link,
		 "allow unprivileged users to set /proc/PID/exe of a process that they restart to an executable that it has mapped (default: yes)");
module_param_named(peer_pid, exceptions[CRYO_EXCEPTION_PEER_PID].on, bool, 0644);
MODULE_PARM_DESC(peer_pid,
		 "allow unprivileged users to set the peer pid of Unix sockets between processes that they restart (default: yes)");
module_param_named(datagrams, exceptions[CRYO_EXCEPTION_DATAGRAMS].on, bool, 0644);
MODULE_PARM_DESC(datagrams,
		 "allow unprivileged users to put datagrams, from any sender, into UDP sockets that only they have open (default: yes)");
module_param_named(time_wait_ports, exceptions[CRYO_EXCEPTION_TIME_WAIT_PORTS].on, bool, 0644);
MODULE_PARM_DESC(time_wait_ports,
		 "allow unprivileged users to bind to TCP ports held in TIME_WAIT by connections of any user (default: no)");
module_param_named(consent, exceptions[CRYO_EXCEPTION_CONSENT].on, bool, 0644);
MODULE_PARM_DESC(consent,
		 "allow unprivileged users to checkpoint those of their processes that have consented where Yama restricts tracing (default: yes)");

bool cryo_exception_capable(enum cryo_exception what, struct user_namespace *ns)
{
	const struct cryo_exception_entry *e = &exceptions[what];

	return ns_capable(ns, e->cap) || (e->other_cap != e->cap && ns_capable(ns, e->other_cap));
}

bool cryo_exception(enum cryo_exception what, struct user_namespace *ns)
{
	return READ_ONCE(exceptions[what].on) || cryo_exception_capable(what, ns);
}

bool cryo_exception_by(const struct cred *maker, enum cryo_exception what,
		       struct user_namespace *ns)
{
	const struct cryo_exception_entry *e = &exceptions[what];

	return cryo_exception(what, ns) || cryo_maker_capable(maker, ns, e->cap) ||
	       cryo_maker_capable(maker, ns, e->other_cap);
}

u64 cryo_exceptions_off(void)
{
	u64 off = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(exceptions); i++)
		if (!READ_ONCE(exceptions[i].on))
			off |= exceptions[i].feature;
	return off;
}

/*
 * Some steps up from *@at, which is counted, in one RCU section. Leaves NULL: there is nobody
 * further up.
 */
static bool find_ancestor(struct pid *ancestor, struct task_struct **at)
{
	struct task_struct *task = *at;
	unsigned int steps;
	bool is = false;

	rcu_read_lock();
	for (steps = 0; task && !is && steps < CRYO_WALK_STEP; steps++) {
		is = task_tgid(task) == ancestor;
		/* Who has gone has left its children to others, and leads nowhere any more. */
		task = task->pid && pid_alive(task) ? rcu_dereference(task->real_parent) : NULL;
	}
	if (task)
		get_task_struct(task);
	rcu_read_unlock();
	put_task_struct(*at);
	*at = task;
	return is;
}

bool cryo_is_descendant(struct pid *ancestor, struct task_struct *task)
{
	struct task_struct *at = get_task_struct(task);
	bool is = false;

	might_sleep();
	while (at && !is) {
		is = find_ancestor(ancestor, &at);
		cond_resched();
	}
	if (at)
		put_task_struct(at);
	return is;
}
