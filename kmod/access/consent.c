// SPDX-License-Identifier: GPL-2.0-only
/*
 * consent.c - processes that let their own user checkpoint them where Yama would not
 *
 * With kernel.yama.ptrace_scope at 1, only ancestors may trace a process, and cr_checkpoint is
 * none. PR_SET_PTRACER would let anybody of the user trace it, debuggers included. So a process
 * says here that it may be checkpointed, and nothing else. Its children have said it, too, from
 * fork() on; a program that runs with other rights than its caller has not.
 *
 * The kernel tells of fork(), exec() and exit by tracepoints, which have probes here while there is
 * any such process, and for some minutes more: to attach or detach one changes the kernel's code,
 * for which all processors are interrupted, and is not to be had by any user as often as he likes.
 * A mark goes with its process, so nobody has more of them than processes.
 */
#include <linux/binfmts.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include <cryo/ioctl.h>

#include "access/consent.h"
#include "access/exceptions.h"
#include "compat/ksym.h"
#include "compat/tracepoint.h"
#include "lib/args.h"

#define YAMA_RELATIONAL	1	/* ptrace_scope: ancestors only */

/* A process that has consented. */
struct cryo_consent_entry {
	struct rhash_head node;
	struct pid *tgid;	/* counted while it is in the table; readers compare it only */
	kuid_t uid;		/* all of its user ids, when it did */
	struct rcu_head rcu;
};

#define PROBES_STAY_S	300	/* without anybody */

static const struct rhashtable_params consent_params = {
	.key_len = sizeof_field(struct cryo_consent_entry, tgid),
	.key_offset = offsetof(struct cryo_consent_entry, tgid),
	.head_offset = offsetof(struct cryo_consent_entry, node),
	.automatic_shrinking = true,
};

/*
 * Read with RCU: the probes run in everybody's fork(), exec and exit, who are not to wait for each
 * other. Only whoever has consented takes the lock, to come or to go.
 */
static struct rhashtable consents;
static unsigned int nr_consents;
static DEFINE_SPINLOCK(consents_lock);
static bool has_table;

/* Protects probing, and is held while probes come and go. Outermost. */
static DEFINE_MUTEX(probes_lock);
static bool probing;

static void probe_fork(void *data, struct task_struct *parent, struct task_struct *child);
static void probe_exec(void *data, struct task_struct *task, pid_t old_pid,
		       struct linux_binprm *bprm);
static void probe_exit(void *data, struct task_struct *task CRYO_PROBE_EXIT_MORE);

/* In the order in which they are registered: nothing is marked before the last one. */
static struct cryo_probe {
	const char *name;
	void *fn;
	struct tracepoint *tp;
} probes[] = {
	{ "sched_process_exit", probe_exit },
	{ "sched_process_exec", probe_exec },
	{ "sched_process_fork", probe_fork },
};

/* ---- marks ---- */

/* With RCU. */
static struct cryo_consent_entry *find_consent(struct pid *tgid)
{
	return rhashtable_lookup(&consents, &tgid, consent_params);
}

static bool find_uid(struct pid *tgid, kuid_t *uid)
{
	const struct cryo_consent_entry *c;

	if (!has_table)
		return false;
	rcu_read_lock();
	c = find_consent(tgid);
	if (c)
		*uid = c->uid;
	rcu_read_unlock();
	return c;
}

/* As @uid has, or, if @from is given, as that process has, if it has. */
static int add_consent(struct pid *tgid, struct pid *from, kuid_t uid, gfp_t flags)
{
	struct cryo_consent_entry *c = kmalloc(sizeof(*c), flags | __GFP_ACCOUNT), *parent;
	int err = -EEXIST;

	if (!c)
		return -ENOMEM;
	c->tgid = get_pid(tgid);
	c->uid = uid;
	rcu_read_lock();
	spin_lock(&consents_lock);
	/* In one step: without any mark, there may be no probes from now on. */
	parent = from ? find_consent(from) : NULL;
	if (parent)
		c->uid = parent->uid;
	if (!from || parent)
		err = rhashtable_lookup_insert_fast(&consents, &c->node, consent_params);
	nr_consents += !err;
	spin_unlock(&consents_lock);
	rcu_read_unlock();
	if (err) {
		put_pid(c->tgid);
		kfree(c);
	}
	return err == -EEXIST ? 0 : err;
}

static void remove_probes(struct work_struct *work);
static DECLARE_DELAYED_WORK(remove_probes_work, remove_probes);

static void drop_consent(struct pid *tgid)
{
	struct cryo_consent_entry *c;
	bool last = false;

	if (!has_table)
		return;
	rcu_read_lock();
	c = find_consent(tgid);
	if (c) {
		spin_lock(&consents_lock);
		/* Another thread may have taken it back. */
		if (rhashtable_remove_fast(&consents, &c->node, consent_params))
			c = NULL;
		else
			last = !--nr_consents;
		spin_unlock(&consents_lock);
	}
	rcu_read_unlock();
	if (!c)
		return;
	put_pid(c->tgid);
	kfree_rcu(c, rcu);
	if (last)
		schedule_delayed_work(&remove_probes_work, PROBES_STAY_S * HZ);
}

static bool has_only_uid(const struct cred *cred, kuid_t uid)
{
	return uid_eq(cred->uid, uid) && uid_eq(cred->euid, uid) && uid_eq(cred->suid, uid);
}

/* ---- probes: preemption is off ---- */

/* The child does not run yet. If there is no memory for it, it has not consented. */
static void probe_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	kuid_t uid;

	if (thread_group_leader(child) && find_uid(task_tgid(parent), &uid))
		add_consent(task_tgid(child), task_tgid(parent), uid, GFP_ATOMIC | __GFP_NOWARN);
}

/* The new credentials are in force. */
static void probe_exec(void *data, struct task_struct *task, pid_t old_pid,
		       struct linux_binprm *bprm)
{
	kuid_t uid;

	if (find_uid(task_tgid(task), &uid) &&
	    (bprm->secureexec || !has_only_uid(current_cred(), uid)))
		drop_consent(task_tgid(task));
}

static void probe_exit(void *data, struct task_struct *task CRYO_PROBE_EXIT_MORE)
{
	if (!atomic_read(&task->signal->live))
		drop_consent(task_tgid(task));
}

static void unregister_probes(size_t n)
{
	while (n--)
		WARN_ON_ONCE(tracepoint_probe_unregister(probes[n].tp, probes[n].fn, NULL));
}

static int register_probes(void)
{
	size_t i;
	int err;

	lockdep_assert_held(&probes_lock);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		err = tracepoint_probe_register(probes[i].tp, probes[i].fn, NULL);
		if (err) {
			unregister_probes(i);
			return err;
		}
	}
	probing = true;
	return 0;
}

/* Some time after the last one has gone, if none has come since: who comes has the mutex. */
static void remove_probes(struct work_struct *work)
{
	bool none;

	mutex_lock(&probes_lock);
	spin_lock(&consents_lock);
	none = !nr_consents;
	spin_unlock(&consents_lock);
	if (probing && none) {
		unregister_probes(ARRAY_SIZE(probes));
		probing = false;
	}
	mutex_unlock(&probes_lock);
}

/* ---- CRYO_IOC_CONSENT ---- */

static int give_consent(void)
{
	const struct cred *cred = current_cred();
	int err = 0;

	if (!has_only_uid(cred, cred->uid))
		return -EPERM;
	if (mutex_lock_killable(&probes_lock))
		return -EINTR;
	if (!probing)
		err = register_probes();
	if (!err)
		err = add_consent(task_tgid(current), NULL, cred->uid, GFP_KERNEL);
	mutex_unlock(&probes_lock);
	/* For those that are there for nobody. */
	if (err)
		schedule_delayed_work(&remove_probes_work, PROBES_STAY_S * HZ);
	return err;
}

long cryo_consent(void __user *arg)
{
	struct cryo_consent args;
	kuid_t uid;
	bool had;
	int err;

	if (!cryo_consent_feature())
		return -EOPNOTSUPP;
	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_consent, consent), arg);
	if (err)
		return err;
	had = find_uid(task_tgid(current), &uid);
	switch (args.consent) {
	case CRYO_CONSENT_ASK:
		break;
	case CRYO_CONSENT_GIVE:
		/* One of other ids than it has now would be of no use. */
		if (had && !uid_eq(uid, current_uid()))
			drop_consent(task_tgid(current));
		err = give_consent();
		break;
	case CRYO_CONSENT_TAKE_BACK:
		drop_consent(task_tgid(current));
		break;
	default:
		return -EINVAL;
	}
	return err ?: had;
}

/* ---- the question ---- */

/*
 * Does anything but Yama forbid it? To Yama, and to the kernel's own rules, the caller says that he
 * has CAP_SYS_PTRACE; all other security modules are asked as for ptrace(2). The kernel's own rules
 * are asked as well, without it.
 */
static bool yama_alone_forbids(struct task_struct *task)
{
	const struct cred *own;
	struct cred *cred;
	bool may;

	if (!cryo_ptrace_may_access(task, PTRACE_MODE_READ_REALCREDS))
		return false;
	cred = prepare_creds();
	if (!cred)
		return false;
	cap_raise(cred->cap_effective, CAP_SYS_PTRACE);
	own = override_creds(cred);
	may = cryo_ptrace_may_access(task, PTRACE_MODE_ATTACH_REALCREDS);
	revert_creds(own);
	put_cred(cred);
	return may;
}

/* The caller, the process and its consent are of one user. */
static bool is_same_user(struct task_struct *task, kuid_t uid)
{
	const struct cred *cred;
	bool is;

	rcu_read_lock();
	cred = __task_cred(task);
	is = cred->user_ns == current_user_ns() && has_only_uid(cred, uid) &&
	     has_only_uid(current_cred(), uid);
	rcu_read_unlock();
	return is;
}

/*
 * The mark has gone with the process: of one that has exited, of which there is no more than how,
 * that of its parent speaks, who can wait for it.
 */
static bool find_uid_of_parent(struct task_struct *task, kuid_t *uid)
{
	bool found;

	if (atomic_read(&task->signal->live))
		return false;
	rcu_read_lock();
	found = find_uid(task_tgid(rcu_dereference(task->real_parent)), uid);
	rcu_read_unlock();
	return found;
}

bool cryo_has_consented(struct task_struct *task)
{
	kuid_t uid;
	bool has = find_uid(task_tgid(task), &uid);

	rcu_read_lock();
	has = has && has_only_uid(__task_cred(task), uid);
	rcu_read_unlock();
	return has;
}

bool cryo_consented(struct task_struct *task)
{
	kuid_t uid;

	return cryo_yama_level() == YAMA_RELATIONAL &&
	       cryo_exception(CRYO_EXCEPTION_CONSENT, current_user_ns()) &&
	       (find_uid(task_tgid(task), &uid) || find_uid_of_parent(task, &uid)) &&
	       is_same_user(task, uid) && yama_alone_forbids(task);
}

/* ---- module ---- */

static void find_tracepoint(struct tracepoint *tp, void *priv)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (!strcmp(tp->name, probes[i].name))
			probes[i].tp = tp;
}

u64 cryo_consent_feature(void)
{
	size_t i;

	/*
	 * Probes of such a kernel run with preemption off, where its spinlocks and allocators
	 * sleep.
	 */
	if (!has_table || IS_ENABLED(CONFIG_PREEMPT_RT) || cryo_yama_level() < 0)
		return 0;
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (!probes[i].tp)
			return 0;
	return CRYO_FEATURE_CONSENT;
}

void cryo_consent_init(void)
{
	has_table = !rhashtable_init(&consents, &consent_params);
	for_each_kernel_tracepoint(find_tracepoint, NULL);
}

static void free_consent(void *consent, void *arg)
{
	struct cryo_consent_entry *c = consent;

	put_pid(c->tgid);
	kfree(c);
}

void cryo_consent_exit(void)
{
	mutex_lock(&probes_lock);
	if (probing)
		unregister_probes(ARRAY_SIZE(probes));
	probing = false;
	mutex_unlock(&probes_lock);
	tracepoint_synchronize_unregister();
	cancel_delayed_work_sync(&remove_probes_work);
	if (has_table)
		rhashtable_free_and_destroy(&consents, free_consent, NULL);
}
